#pragma once

#include <mysql.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace aferir::oltp {

/// The server refused a statement, or has ended.
class DatabaseError : public std::runtime_error {
  public:
    DatabaseError(unsigned code, const std::string& message);
    ~DatabaseError() override;

    /// Whether the transaction may be tried again: deadlock, or a lock that took too long.
    [[nodiscard]] bool transient() const;

  private:
    unsigned code_;
};

using Row = std::vector<std::string>;

/// One session over a Unix socket.
class Connection {
  public:
    /// Connects to the server. Errors: DatabaseError.
    Connection(const std::string& socket, const std::string& database);

    /// Executes a statement. Errors: DatabaseError, here and below.
    void execute(const std::string& statement);
    /// Rows of a query; NULL is an empty string.
    std::vector<Row> rows(const std::string& statement);
    /// The first column of the first row; 0 if it is NULL or there is no row.
    std::int64_t number(const std::string& statement);
    [[nodiscard]] std::int64_t inserted() const;

  private:
    struct Close {
        void operator()(MYSQL* session) const { mysql_close(session); }
    };

    [[noreturn]] void fail() const;

    std::unique_ptr<MYSQL, Close> session_;
};

}  // namespace aferir::oltp
