#include "network_stream/gaps.hpp"

namespace aferir {

void GapWatch::note(double now_s) {
    if (first_s_ < 0) {
        first_s_ = now_s;
    } else if (now_s - last_s_ > longest_s_) {
        longest_s_ = now_s - last_s_;
        began_s_ = last_s_;
    }
    last_s_ = now_s;
}

}  // namespace aferir
