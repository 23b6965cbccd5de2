# weft_embed(<target> <symbol> <file>): the bytes of a text file as `weft::embedded::<symbol>`, a std::string_view in the
# target. The program then needs no file at run time. Written anew whenever the file changes.
#
# As a script (cmake -P) this file is what writes the source: SYMBOL, INPUT and OUTPUT are given by -D.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  string(FIND "${text}" ")weft\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${INPUT} contains )weft\", which ends a literal")
  endif()
  file(WRITE "${OUTPUT}" "#include <string_view>\n\nnamespace weft::embedded {\n"
    "extern const std::string_view ${SYMBOL};\nconst std::string_view ${SYMBOL} = R\"weft(" "${text}"
    ")weft\";\n}  // namespace weft::embedded\n")
  return()
endif()

set(WEFT_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(weft_embed target symbol file)
  set(input ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} -DINPUT=${input} -DOUTPUT=${output} -P ${WEFT_EMBED_SCRIPT}
    DEPENDS ${input} ${WEFT_EMBED_SCRIPT}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
