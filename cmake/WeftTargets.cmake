# weft_library(<folder> [DEPENDS <folder>...] [PUBLIC <target>...] [PRIVATE <target>...])
# One static library, weft::<folder>, from every source in weft/<folder>. A folder links only what it names, so a wrong
# include fails to link even before scripts/check_includes.py sees it.
function(weft_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp "")
    set(sources ${CMAKE_BINARY_DIR}/empty.cpp)
  endif()
  add_library(weft_${name} STATIC ${sources})
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:include>)
  list(TRANSFORM ARG_DEPENDS PREPEND weft_)
  target_link_libraries(weft_${name} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()
