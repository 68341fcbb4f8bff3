#include "oltp/connection.hpp"

#include <charconv>

namespace aferir::oltp {
namespace {

// Error codes of MariaDB.
constexpr unsigned kLockWaitTimeout = 1205;
constexpr unsigned kDeadlock = 1213;

struct Free {
    void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
};

}  // namespace

DatabaseError::DatabaseError(unsigned code, const std::string& message)
    : std::runtime_error(message), code_(code) {}

DatabaseError::~DatabaseError() = default;

bool DatabaseError::transient() const { return code_ == kDeadlock || code_ == kLockWaitTimeout; }

Connection::Connection(const std::string& socket, const std::string& database)
    : session_(mysql_init(nullptr)) {
    if (!session_) {
        throw std::bad_alloc();
    }
    const char* const chosen = database.empty() ? nullptr : database.c_str();
    if (mysql_real_connect(session_.get(), nullptr, "root", nullptr, chosen, 0, socket.c_str(),
                           0) == nullptr) {
        fail();
    }
}

void Connection::execute(const std::string& statement) { rows(statement); }

std::vector<Row> Connection::rows(const std::string& statement) {
    if (mysql_real_query(session_.get(), statement.data(), statement.size()) != 0) {
        fail();
    }
    const std::unique_ptr<MYSQL_RES, Free> result(mysql_store_result(session_.get()));
    if (!result) {
        if (mysql_errno(session_.get()) != 0) {
            fail();
        }
        return {};
    }
    std::vector<Row> all;
    all.reserve(mysql_num_rows(result.get()));
    const unsigned columns = mysql_num_fields(result.get());
    while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
        Row& one = all.emplace_back();
        for (unsigned column = 0; column < columns; ++column) {
            one.emplace_back(row[column] == nullptr ? "" : row[column]);
        }
    }
    return all;
}

std::int64_t Connection::number(const std::string& statement) {
    const auto all = rows(statement);
    std::int64_t value = 0;
    if (!all.empty()) {
        const auto& text = all.front().front();
        std::from_chars(text.data(), text.data() + text.size(), value);
    }
    return value;
}

std::int64_t Connection::inserted() const {
    return static_cast<std::int64_t>(mysql_insert_id(session_.get()));
}

void Connection::fail() const {
    throw DatabaseError(mysql_errno(session_.get()), mysql_error(session_.get()));
}

}  // namespace aferir::oltp
