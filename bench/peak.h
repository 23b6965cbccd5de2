#pragma once

namespace weft::bench {

// FLOP/s of one thread that does nothing but multiply-adds in registers: the best of many short runs, measured once.
double peak_flops();

}  // namespace weft::bench
