#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aferir::inside {

// One message: `u32 size of the payload | u8 kind | u32 task | payload`, little endian. A task is
// one command or one file, numbered by the host.
enum class Kind : std::uint8_t {
    // Kinds that the host sends.
    kRun = 'R',   // `u32 n`, then n arguments and any number of NAME=VALUE, each ended by a NUL
    kKill = 'K',  // kills every process of that task, after asking its first one to end
    kPut = 'P',   // `u32 mode`, then the path; content follows in kData and ends with kEnd
    kGet = 'G',   // a path
    // Kinds that the instance sends.
    kHello = 'H',   // the first message
    kOut = 'O',     // what a command wrote to its standard output
    kErr = 'E',     // what a command wrote to its standard error
    kExited = 'X',  // `i32 status of waitpid(2) | u64 nanoseconds from fork(2) to its end`
    kFailed = 'F',  // `i32 errno`, then a description of what failed
    kDone = 'T',    // of a file
    // Kinds that both send.
    kData = 'D',
    kEnd = 'Z',
};

struct Message {
    Kind kind = Kind::kHello;
    std::uint32_t task = 0;
    std::string payload;
};

// Assembles whole messages from bytes as they arrive.
class Reader {
  public:
    void add(std::string_view bytes) { buffer_.append(bytes); }
    std::optional<Message> next();

  private:
    std::string buffer_;
};

std::string encoded(const Message& message);

// Takes a number from the front of a payload; zero if it is too short.
std::uint32_t take_u32(std::string_view& payload);
void put_u32(std::string& payload, std::uint32_t value);
void put_u64(std::string& payload, std::uint64_t value);

// Writes all bytes, blocking if necessary. False if the other end is closed.
bool write_all(int handle, std::string_view bytes);

}  // namespace aferir::inside
