# Every library weft stands on, found once. All of them are packages of the distribution; scripts/install_deps.sh names
# them. What a library (not only the program or a test) needs is found again by cmake/weft-config.cmake.in.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(dnnl REQUIRED CONFIG)
find_package(hwy REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(spdlog REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(tomlplusplus REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
find_package(SentencePiece REQUIRED)
