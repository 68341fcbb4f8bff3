#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace aferir {

/// Counts by name, e.g. `TcpRetransSegs`; names as in nstat(8).
using Counters = std::map<std::string, std::int64_t, std::less<>>;

/// Counters of /proc/net/snmp or /proc/net/netstat: pairs of lines, names and values. Only those of
/// TCP and MPTCP; other lines are skipped.
Counters parse_counters(std::string_view text);

/// Counters that have grown, with their growth.
Counters difference(const Counters& before, const Counters& after);

struct LinkBytes {
    std::int64_t received = 0;
    std::int64_t sent = 0;
    friend bool operator==(const LinkBytes&, const LinkBytes&) = default;
};

/// Bytes of each interface in /proc/net/dev, by its name; without `lo`.
std::map<std::string, LinkBytes> parse_links(std::string_view text);

/// Reads both files of TCP counters, of this process's network namespace.
Counters read_counters();

std::map<std::string, LinkBytes> read_links();

}  // namespace aferir
