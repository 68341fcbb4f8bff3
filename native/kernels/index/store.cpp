#include "index/store.hpp"

#include <db.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/storage.hpp"

namespace aferir::index {
namespace {

constexpr std::uint64_t kGibi = 1U << 30U;
constexpr int kOwnerOnly = 0600;

// Keeps the library from writing errors to standard error, as they are also thrown.
void say_nothing(const DB_ENV* /*environment*/, const char* /*prefix*/, const char* /*text*/) {}

DBT entry(const void* data, std::size_t bytes) {
    DBT made{};
    made.data = const_cast<void*>(data);
    made.size = static_cast<u_int32_t>(bytes);
    return made;
}

}  // namespace

struct Store::Handle {
    std::filesystem::path path;
    DB* db = nullptr;

    // Positive codes are those of errno(3), negative ones the library's own.
    void must(int status, std::string_view doing) const {
        if (status == ENOMEM) {
            throw OutOfMemory("Berkeley DB has not enough memory; choose a smaller --cache-bytes");
        }
        if (status > 0) {
            throw_storage_error(doing, path, status);
        }
        if (status < 0) {
            throw StorageError("cannot " + std::string(doing) + " " + path.string() + ": " +
                               db_strerror(status));
        }
    }
};

Store::Store(const std::filesystem::path& path, std::uint64_t cache_bytes)
    : handle_(std::make_unique<Handle>(Handle{path})) {
    handle_->must(db_create(&handle_->db, nullptr, 0), "make");
    auto* const db = handle_->db;
    try {
        db->set_errcall(db, say_nothing);
        handle_->must(db->set_cachesize(db, static_cast<u_int32_t>(cache_bytes / kGibi),
                                        static_cast<u_int32_t>(cache_bytes % kGibi), 1),
                      "make a cache for");
        handle_->must(db->set_flags(db, DB_DUP), "set up");
        handle_->must(db->open(db, nullptr, path.c_str(), nullptr, DB_BTREE, DB_CREATE, kOwnerOnly),
                      "open");
    } catch (...) {
        db->close(db, DB_NOSYNC);
        throw;
    }
}

Store::~Store() { handle_->db->close(handle_->db, DB_NOSYNC); }

void Store::put(std::string_view term, std::span<const Posting> postings) {
    DBT key = entry(term.data(), term.size());
    DBT value = entry(postings.data(), postings.size_bytes());
    handle_->must(handle_->db->put(handle_->db, nullptr, &key, &value, 0), "write");
}

io::Counts Store::sync() {
    auto* const db = handle_->db;
    handle_->must(db->sync(db, 0), "write");
    u_int32_t page = 0;
    handle_->must(db->get_pagesize(db, &page), "look at");
    auto* const environment = db->get_env(db);
    DB_MPOOL_STAT* found = nullptr;
    handle_->must(environment->memp_stat(environment, &found, nullptr, 0), "look at");
    const std::unique_ptr<DB_MPOOL_STAT, decltype(&std::free)> statistics(found, std::free);
    io::Counts counts;
    counts.reads = statistics->st_page_in;
    counts.writes = statistics->st_page_out;
    counts.read_bytes = counts.reads * page;
    counts.written_bytes = counts.writes * page;
    counts.syncs = 1;
    return counts;
}

void Store::for_each(const TermTable::Take& take) {
    auto* const db = handle_->db;
    DBC* cursor = nullptr;
    handle_->must(db->cursor(db, nullptr, &cursor, 0), "read");
    const std::unique_ptr<DBC, int (*)(DBC*)> closing(cursor, [](DBC* c) { return c->close(c); });
    std::vector<Posting> postings;
    DBT key{};
    DBT value{};
    int status = cursor->get(cursor, &key, &value, DB_NEXT);
    for (; status == 0; status = cursor->get(cursor, &key, &value, DB_NEXT)) {
        if (value.size % sizeof(Posting) != 0) {
            throw StorageError(handle_->path.string() + " holds something else than postings");
        }
        postings.resize(value.size / sizeof(Posting));
        if (value.size > 0) {
            std::memcpy(postings.data(), value.data, value.size);
        }
        take({static_cast<const char*>(key.data), key.size}, postings);
    }
    if (status != DB_NOTFOUND) {
        handle_->must(status, "read");
    }
}

}  // namespace aferir::index
