#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "common/arguments.hpp"
#include "launch/capture.hpp"
#include "launch/options.hpp"
#include "launch/run.hpp"
#include "launch/signals.hpp"
#include "launch/workplace.hpp"

namespace aferir::launch {
namespace {

Job job_of(std::vector<std::string> words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size());
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return read_options(pointers);
}

std::string report_of(std::vector<std::string> words) {
    adopt_orphans();
    open_signals();
    return run(job_of(std::move(words)));
}

void expect_in(const std::string& report, const std::string& part) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in " << report;
}

// Pages of a file that are in memory, or -1 on a file system whose files are nowhere else.
int resident_pages(const std::string& path) {
    struct statfs found{};
    const int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (handle < 0 || fstat(handle, &status) != 0 || fstatfs(handle, &found) != 0) {
        return -1;
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const at = mmap(nullptr, size, PROT_READ, MAP_SHARED, handle, 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    const bool known = at != MAP_FAILED && mincore(at, size, pages.data()) == 0;
    munmap(at, size);
    close(handle);
    if (!known || found.f_type == TMPFS_MAGIC) {
        return -1;
    }
    return static_cast<int>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; }));
}

TEST(Launch, FilesOfAColdFolderAreOnTheDiskAlone) {
    const Workplace place;
    std::filesystem::create_directory(place.path() + "/below");
    const std::string path = place.path() + "/below/file";
    std::ofstream(path) << std::string(1U << 20U, 'x');
    if (resident_pages(path) < 0) {
        GTEST_SKIP() << place.path() << " is in memory itself";
    }
    EXPECT_EQ(resident_pages(path), 256);
    evict(place.path());
    EXPECT_EQ(resident_pages(path), 0);
}

TEST(Launch, TheEnvironmentSaysWhetherItsCacheIsCold) {
    setenv("AFERIR_PAGE_CACHE", "cold", 1);
    EXPECT_TRUE(job_of({"--", "true"}).cold);
    EXPECT_EQ(std::getenv("AFERIR_PAGE_CACHE"), nullptr);
    EXPECT_FALSE(job_of({"--", "true"}).cold);
}

TEST(Launch, OptionsEndAtTheCommand) {
    const Job job = job_of({"--hash", "--report", "a", "--report", "b", "--ready", "port 80", "--",
                            "program", "--hash", "--"});
    EXPECT_TRUE(job.hash);
    EXPECT_EQ(job.reports, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(job.ready, Ready::kPort);
    EXPECT_EQ(job.command, (std::vector<std::string>{"program", "--hash", "--"}));
    EXPECT_THROW(job_of({"--unknown", "x", "--", "program"}), UsageError);
    EXPECT_THROW(job_of({"--ready", "port none", "--", "program"}), UsageError);
    EXPECT_THROW(job_of({"--hash"}), UsageError);
}

TEST(Launch, OnlyTheEndOfAStreamIsKept) {
    Capture capture(1024, true);
    for (int i = 0; i < 1000; ++i) {
        capture.add(std::string(100, 'a'));
    }
    capture.add("the end");
    EXPECT_EQ(capture.bytes(), 100007U);
    EXPECT_EQ(capture.end().size(), 1024U);
    EXPECT_TRUE(capture.end().ends_with("athe end"));
}

TEST(Launch, TheHashIsOfEverything) {
    Capture capture(2, true);
    capture.add("a");
    capture.add("bc");
    EXPECT_EQ(capture.end(), "bc");
    // FIPS 180-4, example B.1
    EXPECT_EQ(capture.digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Launch, Base64IsThatOfTheStandard) {  // RFC 4648, chapter 10
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

TEST(Launch, AReportThatIsNoFileIsNotThere) {
    const std::string report = report_of(
        {"--report", "pipe", "--report", "folder", "--", "sh", "-c", "mkfifo pipe; mkdir folder"});
    expect_in(report, R"("reports":{"pipe":null,"folder":null})");
}

TEST(Launch, TellsWhatItPrintedAndHowItEnded) {
    const std::string report = report_of({"--", "sh", "-c", "echo out; echo err >&2; exit 3"});
    expect_in(report, R"("exit_code":3)");
    expect_in(report, R"("out":")" + base64("out\n") + '"');
    expect_in(report, R"("err":")" + base64("err\n") + '"');
    expect_in(report, R"("left":0)");
    expect_in(report, R"("queued_s":)");
}

TEST(Launch, RepeatsWhatIsToBeEchoed) {
    setenv("AFERIR_ECHO", R"({"kept":1})", 1);
    const std::string report = report_of({"--", "sh", "-c", "echo $AFERIR_ECHO"});
    expect_in(report, R"("echo":{"kept":1})");
    expect_in(report, R"("out":")" + base64("\n") + '"');
}

TEST(Launch, TellsTheSignalThatEndedIt) {
    expect_in(report_of({"--", "sh", "-c", "kill -KILL $$"}), R"("exit_code":-9)");
}

TEST(Launch, NoSuchProgramIsTold) {
    const std::string report = report_of({"--", "aferir-has-no-such-program"});
    expect_in(report, R"("stage":"execute")");
    expect_in(report, R"("errno":2)");
}

TEST(Launch, AFolderThatIsNotThereIsNamed) {
    try {
        report_of({"--directory", "/no/such", "--", "true"});
        FAIL() << "it ran";
    } catch (const std::system_error& error) {
        EXPECT_NE(std::string(error.what()).find("/no/such"), std::string::npos);
    }
}

TEST(Launch, AFileThatIsNoProgramIsShownAsItStarts) {
    const std::string report =
        report_of({"--prepare", "printf text > it; chmod 755 it", "--", "./it"});
    expect_in(report, R"("errno":8)");
    expect_in(report, R"("header":")" + base64("text") + '"');
}

TEST(Launch, ThereIsNoTerminalAndNothingToRead) {
    expect_in(report_of({"--", "sh", "-c", "read x; exec 3< /dev/tty || exit 5"}),
              R"("exit_code":2)");
    expect_in(report_of({"--", "sh", "-c", "read x || exit 7"}), R"("exit_code":7)");
}

TEST(Launch, AnInputOrOutputThatCannotBeOpenedIsNamed) {
    for (const std::string stage : {"input", "output"}) {
        const std::string report = report_of({"--" + stage, "no/such", "--", "true"});
        expect_in(report, R"("stage":")" + stage + '"');
        expect_in(report, base64("no/such: No such file or directory"));
        EXPECT_EQ(report.find("duration_s"), std::string::npos);
    }
}

TEST(Launch, ACommandThatSaysNothingFailsWithItsCodeAlone) {
    expect_in(report_of({"--prepare", "exit 3", "--", "true"}), base64("exit code 3") + '"');
}

TEST(Launch, WhoLeavesIsEndedAndCounted) {
    const std::string report =
        report_of({"--", "sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & exit 0"});
    expect_in(report, R"("exit_code":0)");
    EXPECT_EQ(report.find(R"("left":0)"), std::string::npos) << report;
    EXPECT_EQ(end_descendants(), 0);
}

TEST(Launch, FilesAreNewEachTimeAndGoneAfter) {
    const std::string report = report_of(
        {"--prepare", "test ! -e made", "--conclude", "test -e made", "--verify", "test -e made",
         "--report", "made", "--report", "missing", "--", "sh", "-c", "pwd; echo 42 > made"});
    EXPECT_EQ(report.find("stage"), std::string::npos) << report;
    expect_in(report, R"("made":")" + base64("42\n") + '"');
    expect_in(report, R"("missing":null)");
    EXPECT_EQ(end_descendants(), 0);
}

TEST(Launch, TheOutputIsWhatIsVerified) {
    expect_in(report_of({"--verify", "grep -q right", "--", "echo", "wrong"}),
              R"("stage":"verify")");
    EXPECT_EQ(report_of({"--verify", "grep -q right", "--", "echo", "right"}).find("stage"),
              std::string::npos);
}

TEST(Launch, AServiceIsAwaitedAndEnded) {
    const std::string report = report_of(
        {"--service", "echo starts; sleep 0.05; touch there; echo is ready; exec sleep 1000",
         "--ready", "line is ready", "--", "test", "-e", "there"});
    expect_in(report, R"("exit_code":0)");
    expect_in(report, R"("service_user_s")");
    EXPECT_EQ(end_descendants(), 0);
}

TEST(Launch, AServiceThatEndsIsNotWaitedForLong) {
    const std::string report =
        report_of({"--service", "echo no licence; exit 1", "--ready", "port 9", "--", "true"});
    expect_in(report, R"("stage":"service")");
    EXPECT_EQ(report.find("duration_s"), std::string::npos) << report;
}

std::string interrupted_in(std::vector<std::string> words) {
    try {
        return "not interrupted: " + report_of(std::move(words));
    } catch (const Interrupted& interrupted) {
        return interrupted.stage();
    }
}

TEST(Launch, WhatWasBeingDoneIsToldAndItsFolderIsGone) {
    const Workplace place;
    const std::string told = place.path() + "/told";
    const std::string hangs = "pwd > " + told + "; kill -TERM $PPID; exec sleep 1000";
    EXPECT_EQ(interrupted_in({"--verify", hangs, "--service", "exec sleep 1000", "--", "true"}),
              "verify");
    std::string folder;
    std::getline(std::ifstream(told) >> std::ws, folder);
    EXPECT_FALSE(folder.empty());
    EXPECT_FALSE(std::filesystem::exists(folder));
    EXPECT_EQ(interrupted_in({"--prepare", hangs, "--", "true"}), "prepare");
    EXPECT_EQ(interrupted_in({"--", "sh", "-c", hangs}), "");
    EXPECT_EQ(end_descendants(), 0);
}

}  // namespace
}  // namespace aferir::launch
