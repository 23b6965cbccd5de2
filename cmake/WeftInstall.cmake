# What `cmake --install` writes: the program, one static library per folder, the headers, and the CMake package that
# gives find_package(weft) the targets weft::<folder> and weft::weft (all folders).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(weft_libraries GLOBAL PROPERTY WEFT_LIBRARIES)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(
  TARGETS ${weft_libraries} weft_all
  EXPORT weft-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/weft
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h"
  PATTERN "kernels/simd" EXCLUDE
  PATTERN "kernels/onednn" EXCLUDE)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_folder})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in
  ${PROJECT_BINARY_DIR}/weft-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindSentencePiece.cmake DESTINATION ${package_folder})
