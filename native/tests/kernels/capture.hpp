#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace aferir {

/// A FILE whose text can be read back.
class Capture {
  public:
    [[nodiscard]] std::FILE* file() const { return file_.get(); }

    [[nodiscard]] std::string text() const {
        std::string text;
        if (std::fseek(file_.get(), 0, SEEK_SET) != 0) {
            return "the captured text cannot be read back";
        }
        for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) {
            text += static_cast<char>(c);
        }
        return text;
    }

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_{std::tmpfile()};
};

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace aferir
