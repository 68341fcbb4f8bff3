#include "launch/run.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "common/json.hpp"
#include "launch/child.hpp"
#include "launch/service.hpp"
#include "launch/signals.hpp"
#include "launch/workplace.hpp"

namespace aferir::launch {
namespace {

constexpr std::size_t kSaid = 4096;   // of a command around the program
constexpr std::size_t kHeader = 256;  // of a program that cannot be executed
constexpr double kBlock = 512.0;      // getrusage(2) counts these
constexpr double kKibi = 1024.0;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void add_usage(JsonObject& report, const rusage& usage) {
    report.number("user_s", seconds(usage.ru_utime))
        .number("system_s", seconds(usage.ru_stime))
        .number("peak_bytes", static_cast<double>(usage.ru_maxrss) * kKibi)
        .number("read_bytes", static_cast<double>(usage.ru_inblock) * kBlock)
        .number("written_bytes", static_cast<double>(usage.ru_oublock) * kBlock)
        .integer("minor_faults", usage.ru_minflt)
        .integer("major_faults", usage.ru_majflt)
        .integer("voluntary_switches", usage.ru_nvcsw)
        .integer("involuntary_switches", usage.ru_nivcsw);
}

// Exit code, or minus the signal that ended it.
int code_of(int status) { return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status); }

std::string joined(const std::string& what, const std::string& said) {
    return said.empty() ? what : what + ": " + said;
}

// A command before or after the program: its exit code, and its output if that is not 0.
class Step {
  public:
    Step(const std::vector<std::string>& command, const std::string& folder, int input)
        : output_{Capture(kSaid, false), Capture(kSaid, false)} {
        Pipe out = make_pipe();
        Pipe err = make_pipe();
        const Started started =
            start(command, folder, {input, out.writing.get(), err.writing.get()});
        out.writing.close();
        err.writing.close();
        const Ended ended = follow(started, out.reading.get(), err.reading.get(), output_);
        code_ = ended.error != 0 ? 127 : code_of(ended.status);
        if (ended.error != 0) {
            output_.err.add(command.front() + ": " + std::strerror(ended.error) + "\n");
        }
    }

    [[nodiscard]] int code() const { return code_; }
    [[nodiscard]] std::string said() const {
        return std::string(output_.out.end()) + std::string(output_.err.end());
    }

  private:
    Output output_;
    int code_ = 0;
};

// A running job. Each part adds to the report; the first one that fails names itself in it.
class Course {
  public:
    explicit Course(const Job& job)
        : job_(job),
          folder_(job.directory.empty() ? place_.path() + "/files" : job.directory),
          nothing_(open_file("/dev/null", O_RDWR)),
          output_{Capture(job.keep_bytes, job.hash), Capture(kSaid, false)} {
        if (job.directory.empty()) {
            std::filesystem::create_directory(folder_);
        } else {
            open_file(folder_,
                      O_PATH | O_DIRECTORY);  // else its error would be told of the program
        }
    }

    std::string go();

    // Ends all processes, the service in an orderly way, so that nothing writes to its folder any
    // more.
    void abandon();
    // Current step; empty while the program itself runs.
    [[nodiscard]] const std::string& stage() const { return stage_; }

  private:
    bool unpack();
    bool step(std::string_view stage, const std::string& line, int input);
    bool start_service();
    void stop_service();
    void measure();
    [[nodiscard]] std::string placed(const std::string& path) const;
    std::optional<File> opened(std::string_view stage, const std::string& path, int flags);
    std::optional<File> open_input();
    void describe(const Started& started, const Ended& ended);
    void verify();
    void add_reports();
    void fail(std::string_view stage, std::string_view message);

    const Job& job_;
    Workplace place_;
    std::string folder_;
    File nothing_;
    Output output_;
    JsonObject report_;
    std::optional<Service> service_;
    double measured_s_ = 0.0;
    bool failed_ = false;
    std::string stage_;
};

std::string Course::go() {
    const double begun = now_s();
    report_.text("program", "command");
    if (unpack() && step("prepare", job_.prepare, nothing_.get()) && start_service()) {
        measure();
        verify();
        add_reports();
    }
    stop_service();
    step("conclude", job_.conclude, nothing_.get());
    end_descendants();
    report_.number("aside_s", now_s() - begun - measured_s_)
        .raw("echo", job_.echo.empty() ? "null" : job_.echo);
    return report_.str();
}

void Course::abandon() {
    service_.reset();
    end_descendants();
}

void Course::fail(std::string_view stage, std::string_view message) {
    if (!failed_) {
        report_.text("stage", stage).text("said", base64(message));
        failed_ = true;
    }
}

bool Course::unpack() {
    if (job_.work.empty()) {
        return true;
    }
    stage_ = "unpack";
    const Step unpacked({"tar", "-xf", job_.work, "-C", folder_}, "", nothing_.get());
    if (unpacked.code() != 0) {
        fail("unpack", unpacked.said());
    }
    return unpacked.code() == 0;
}

bool Course::step(std::string_view stage, const std::string& line, int input) {
    if (line.empty()) {
        return true;
    }
    stage_ = stage;
    const Step done({"sh", "-c", line}, folder_, input);
    if (done.code() != 0) {
        fail(stage, joined("exit code " + std::to_string(done.code()), done.said()));
    }
    return done.code() == 0;
}

bool Course::start_service() {
    if (job_.service.empty()) {
        return true;
    }
    stage_ = "service";
    const std::string log = place_.path() + "/service";
    service_.emplace(job_, folder_, log);
    const std::string wrong(service_->await());
    if (!wrong.empty()) {
        fail("service", joined(wrong, end_of_file(log, kSaid)));
    }
    return wrong.empty();
}

void Course::stop_service() {
    if (service_.has_value()) {
        stage_ = "service";
        const rusage usage = service_->stop();
        report_.number("service_user_s", seconds(usage.ru_utime))
            .number("service_system_s", seconds(usage.ru_stime))
            .number("service_peak_bytes", static_cast<double>(usage.ru_maxrss) * kKibi);
        service_.reset();
    }
}

std::string Course::placed(const std::string& path) const {
    return path.starts_with('/') ? path : folder_ + "/" + path;
}

// Nothing, and the stage has failed, if the file cannot be opened.
std::optional<File> Course::opened(std::string_view stage, const std::string& path, int flags) {
    const int handle = open(placed(path).c_str(), flags | O_CLOEXEC, 0644);
    if (handle < 0) {
        fail(stage, path + ": " + std::strerror(errno));
        return std::nullopt;
    }
    return File(handle);
}

std::optional<File> Course::open_input() {
    if (!job_.input_text.empty()) {
        return file_with(place_.path(), job_.input_text);
    }
    return opened("input", job_.input_file.empty() ? "/dev/null" : job_.input_file, O_RDONLY);
}

void Course::measure() {
    if (job_.cold) {
        evict(folder_);
    }
    const std::optional<File> input = open_input();
    const std::optional<File> file =
        job_.output_file.empty() ? File()
                                 : opened("output", job_.output_file, O_WRONLY | O_CREAT | O_TRUNC);
    if (!input.has_value() || !file.has_value()) {
        return;
    }
    stage_.clear();
    Pipe out = make_pipe();
    Pipe err = make_pipe();
    const Started started = start(
        job_.command, folder_,
        {input->get(), file->get() >= 0 ? file->get() : out.writing.get(), err.writing.get()});
    out.writing.close();
    err.writing.close();
    const Ended ended = follow(started, out.reading.get(), err.reading.get(), output_);
    measured_s_ = ended.error == 0 ? ended.duration_s : 0.0;
    describe(started, ended);
}

void Course::describe(const Started& started, const Ended& ended) {
    if (ended.error != 0) {
        report_.integer("errno", ended.error).text("path", base64(started.path));
        fail("execute", std::strerror(ended.error));
        std::ifstream program(placed(started.path), std::ios::binary);
        std::string begins(kHeader, '\0');
        program.read(begins.data(), static_cast<std::streamsize>(kHeader));
        begins.resize(static_cast<std::size_t>(program.gcount()));
        report_.text("header", base64(begins));
        return;
    }
    report_.number("duration_s", ended.duration_s).integer("exit_code", code_of(ended.status));
    add_usage(report_, ended.usage);
    if (ended.queued_s >= 0) {
        report_.number("queued_s", ended.queued_s);
    }
    report_.text("out", base64(output_.out.end()))
        .integer("out_bytes", output_.out.bytes())
        .text("out_sha256", output_.out.digest())
        .text("err", base64(output_.err.end()))
        .integer("err_bytes", output_.err.bytes());
    if (!service_.has_value()) {  // which has descendants of its own
        report_.integer("left", end_descendants());
    }
}

void Course::verify() {
    if (!failed_ && !job_.verify.empty()) {
        const File output = file_with(place_.path(), output_.out.end());
        step("verify", job_.verify, output.get());
    }
}

void Course::add_reports() {
    JsonObject found;
    for (const std::string& path : job_.reports) {
        try {
            found.text(path, base64(end_of_file(placed(path), job_.keep_bytes)));
        } catch (const std::system_error&) {
            found.raw(path, "null");
        }
    }
    report_.raw("reports", found.str());
}

}  // namespace

std::string run(const Job& job) {
    Course course(job);
    try {
        return course.go();
    } catch (const Interrupted& interrupted) {
        course.abandon();
        throw Interrupted(interrupted.signal(), course.stage());
    } catch (...) {
        course.abandon();
        throw;
    }
}

}  // namespace aferir::launch
