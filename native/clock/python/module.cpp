// aferir.clock._native: binding of librvec and librgap to Python. Types are in _native.pyi; the
// public modules are aferir.clock.rvec and aferir.clock.rgap.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "aferir/rgap.h"
#include "aferir/rvec.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using unlocked = nb::call_guard<nb::gil_scoped_release>;

// A status of either library; Python's `Failed(status, text)`.
class failure : public std::runtime_error {
  public:
    failure(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
    int status() const noexcept { return status_; }

  private:
    int status_;
};

std::string system_text(const char* text) {
    return errno == 0 ? text : std::generic_category().message(errno);
}

void check_rvec(int status) {
    if (status != RVEC_OK) {
        const char* text = rvec_strerror(status);
        throw failure(status, status == RVEC_ERROR_SYSTEM ? system_text(text) : text);
    }
}

void check_rgap(int status) {
    if (status != RGAP_OK) {
        const char* text = rgap_strerror(status);
        throw failure(status, status == RGAP_ERROR_SYSTEM ? system_text(text) : text);
    }
}

rvec* timeline() { return aferir::rvec_clock::timeline(); }

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(aferir::rvec_clock::now().time_since_epoch().count());
}

std::uint64_t ticks_to_ns(std::uint64_t ticks) {
    rvec_rate rate;
    check_rvec(rvec_get_rate(timeline(), &rate));
    return rvec_ticks_to_ns(rate, ticks);
}

std::uint64_t ns_to_ticks(std::uint64_t ns) {
    rvec_rate rate;
    check_rvec(rvec_get_rate(timeline(), &rate));
    return rvec_ns_to_ticks(rate, ns);
}

nb::dict rvec_facts_now() {
    rvec_facts facts;
    check_rvec(rvec_info(timeline(), &facts));
    nb::dict out;
    out["counter"] = facts.counter;
    out["frequency_hz"] = facts.frequency_hz;
    out["uncertainty_ppb"] = facts.uncertainty_ppb;
    out["invariance"] = static_cast<int>(facts.invariance);
    out["cores"] = facts.cores;
    out["cores_checked"] = facts.cores_checked;
    out["jumps"] = facts.jumps;
    out["rate_changes"] = facts.rate_changes;
    out["doubt_ns"] = facts.doubt_ns;
    return out;
}

using core_offset = std::tuple<std::uint32_t, std::int64_t, std::uint64_t, bool>;

std::vector<core_offset> core_offsets() {
    rvec_facts facts;
    check_rvec(rvec_info(timeline(), &facts));
    std::vector<core_offset> out;
    for (std::uint32_t core = 0; core < facts.cores; ++core) {
        rvec_core_offset offset;
        if (rvec_get_offset(timeline(), core, &offset) == RVEC_OK && offset.measured) {
            out.emplace_back(core, offset.offset_ticks, offset.uncertainty_ticks,
                             offset.applied != 0);
        }
    }
    return out;
}

const std::uint8_t* bytes_of(const nb::bytes& key) {
    return reinterpret_cast<const std::uint8_t*>(key.c_str());
}

class global_clock {
  public:
    global_clock(const std::string& address, std::uint16_t port, const nb::bytes& key,
                 double deadline_s, bool background) {
        rgap_config config;
        rgap_config_init(&config);
        config.address = address.c_str();
        config.port = port;
        config.key = bytes_of(key);
        config.key_length = key.size();
        config.source = rgap_source_rvec(timeline());
        config.deadline_ns = static_cast<std::uint64_t>(deadline_s * 1e9);
        config.background = background;
        rgap* created = nullptr;
        int status;
        {
            nb::gil_scoped_release waiting;
            status = rgap_create(&created, &config);
        }
        check_rgap(status);
        clock_.reset(created);
    }

    std::tuple<std::uint64_t, std::uint64_t> now() const {
        std::uint64_t time_ns, bound_ns;
        rgap_now(clock_.get(), &time_ns, &bound_ns);
        return {time_ns, bound_ns};
    }

    std::tuple<std::uint64_t, std::uint64_t> at(std::uint64_t local_ns) const {
        std::uint64_t time_ns, bound_ns;
        rgap_at(clock_.get(), local_ns, &time_ns, &bound_ns);
        return {time_ns, bound_ns};
    }

    void look() const { check_rgap(rgap_look(clock_.get())); }
    void poll() const { check_rgap(rgap_poll(clock_.get())); }

    rgap_facts facts() const {
        rgap_facts facts;
        rgap_info(clock_.get(), &facts);
        return facts;
    }

    rgap* handle() const { return clock_.get(); }

  private:
    // Destroys an object, which waits for its background thread; that thread does not need the
    // interpreter.
    struct destroy {
        void operator()(rgap* clock) const { rgap_destroy(clock); }
    };
    std::unique_ptr<rgap, destroy> clock_;
};

nb::dict clock_facts(const global_clock& clock) {
    rgap_facts facts;
    {
        nb::gil_scoped_release waiting;  // for a look that is under way
        facts = clock.facts();
    }
    nb::dict out;
    out["last_status"] = facts.last_status;
    out["looks"] = facts.looks;
    out["level"] = facts.level;
    out["timeline"] = facts.timeline;
    out["offset_ns"] = facts.offset_ns;
    out["rate_ppm"] = facts.rate_ppm;
    out["rate_doubt_ppm"] = facts.rate_doubt_ppm;
    out["half_width_ns"] = facts.half_width_ns;
    out["min_rtt_ns"] = facts.min_rtt_ns;
    out["spread_ns"] = facts.spread_ns;
    out["exchanges"] = facts.exchanges;
    out["kernel_stamped"] = facts.kernel_stamped;
    out["duration_ns"] = facts.duration_ns;
    out["lost"] = facts.lost;
    out["malformed"] = facts.malformed;
    out["foreign"] = facts.foreign;
    out["unexpected"] = facts.unexpected;
    return out;
}

// The process's timeline, shifted to start at another time.
struct shifted_timeline {
    std::uint64_t shift_ns;

    static std::uint64_t now(void* context) {
        return rvec_process_now(timeline()) + static_cast<shifted_timeline*>(context)->shift_ns;
    }
    static void doubt(void*, rgap_doubt* out) {
        rvec_process_doubt(timeline(), &out->ns, &out->ppb);
    }
};

// Shift of the process's timeline to Unix time, by the current system clock.
std::uint64_t unix_shift_ns() {
    std::uint64_t shift = 0, narrowest = UINT64_MAX;
    for (int i = 0; i < 16; ++i) {
        timespec unix_time;
        std::uint64_t before = now_ns();
        clock_gettime(CLOCK_REALTIME, &unix_time);
        std::uint64_t width = now_ns() - before;
        if (width < narrowest) {
            narrowest = width;
            shift = static_cast<std::uint64_t>(unix_time.tv_sec) * 1000000000U +
                    static_cast<std::uint64_t>(unix_time.tv_nsec) - (before + width / 2);
        }
    }
    return shift;
}

class server {
  public:
    server(const std::optional<std::string>& address, std::uint16_t port, const nb::bytes& key,
           const global_clock* upstream, bool unix_origin)
        : reference_{unix_origin ? unix_shift_ns() : 0} {
        rgap_server_config config;
        rgap_server_config_init(&config);
        config.address = address ? address->c_str() : nullptr;
        config.port = port;
        config.key = bytes_of(key);
        config.key_length = key.size();
        config.source = {&reference_, shifted_timeline::now, shifted_timeline::doubt};
        config.upstream = upstream != nullptr ? upstream->handle() : nullptr;
        rgap_server* started = nullptr;
        int status;
        {
            nb::gil_scoped_release waiting;
            status = rgap_server_start(&started, &config);
        }
        check_rgap(status);
        server_.reset(started);
    }

    // Removed before the interpreter is released to other threads, which may call `info` meanwhile.
    void stop() {
        auto stopped = std::move(server_);
        const nb::gil_scoped_release waiting;
        rgap_server_stop(stopped.release());
    }

    nb::dict facts() const {
        nb::dict out;
        rgap_server_facts facts = {};
        if (rgap_server_info(server_.get(), &facts) != RGAP_OK) {
            return out;
        }
        out["port"] = facts.port;
        out["timeline"] = facts.timeline;
        out["answered"] = facts.answered;
        out["malformed"] = facts.malformed;
        out["foreign"] = facts.foreign;
        out["replayed"] = facts.replayed;
        out["busy"] = facts.busy;
        return out;
    }

  private:
    struct stop_serving {
        void operator()(rgap_server* running) const { rgap_server_stop(running); }
    };
    shifted_timeline reference_;
    std::unique_ptr<rgap_server, stop_serving> server_;  // stops before what it serves goes
};

void define_errors(nb::module_& module) {
    // Immortal, like every exception type of a module.
    static PyObject* failed = nullptr;
    nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
        "aferir.clock._native.Failed", "A status of librvec or librgap: (status, text).", nullptr,
        nullptr));
    module.attr("Failed") = type;
    failed = type.release().ptr();
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const failure& error) {
            nb::object value = nb::make_tuple(error.status(), error.what());
            PyErr_SetObject(failed, value.ptr());
        }
    });
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // clocks that live until the interpreter ends are no leak
    define_errors(module);
    {
        // Calibrates here, for 20 ms, and not within somebody's first reading.
        nb::gil_scoped_release waiting;
        try {
            timeline();
        } catch (const aferir::rvec_error& error) {
            throw failure(error.status(), error.what());
        }
    }
    module.def("now_ns", &now_ns);
    module.def("ticks", [] { return rvec_ticks(); });
    module.def("ticks_to_ns", &ticks_to_ns, "ticks"_a);
    module.def("ns_to_ticks", &ns_to_ticks, "ns"_a);
    module.def("rvec_facts", &rvec_facts_now);
    module.def("core_offsets", &core_offsets);
    module.def("measure_offsets", [] { check_rvec(rvec_measure_offsets(timeline())); }, unlocked());
    module.def("unix_shift_ns", &unix_shift_ns);
    module.def("refine", [] { check_rvec(rvec_refine(timeline())); }, unlocked());

    nb::class_<global_clock>(module, "GlobalClock")
        .def(nb::init<const std::string&, std::uint16_t, const nb::bytes&, double, bool>(),
             "address"_a, "port"_a, "key"_a, "deadline_s"_a, "background"_a)
        .def("now", &global_clock::now)
        .def("at", &global_clock::at, "local_ns"_a)
        .def("look", &global_clock::look, unlocked())
        .def("poll", &global_clock::poll, unlocked())
        .def("facts", &clock_facts);
    nb::class_<server>(module, "Server")
        .def(nb::init<const std::optional<std::string>&, std::uint16_t, const nb::bytes&,
                      const global_clock*, bool>(),
             "address"_a.none(), "port"_a, "key"_a, "upstream"_a.none(), "unix_origin"_a,
             nb::keep_alive<1, 5>())
        .def("stop", &server::stop)
        .def("facts", &server::facts);
}
