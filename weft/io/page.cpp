#include "weft/io/page.h"

namespace weft {

namespace embedded {
extern const std::string_view page_css;
}

namespace {

void append_replaced(std::string& out, std::string_view text, char character, std::string_view replacement) {
  size_t begin = 0;
  for (size_t place = text.find(character); place != std::string_view::npos; place = text.find(character, begin)) {
    out.append(text.substr(begin, place - begin)).append(replacement);
    begin = place + 1;
  }
  out.append(text.substr(begin));
}

std::string escaped(std::string_view text) {
  std::string without_ampersands, result;
  append_replaced(without_ampersands, text, '&', "&amp;");
  append_replaced(result, without_ampersands, '<', "&lt;");
  return result;
}

}  // namespace

std::string make_page(const PageParts& parts) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page.append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  page.append("<meta name=\"color-scheme\" content=\"light dark\">\n<title>").append(escaped(parts.title));
  page.append("</title>\n<style>\n")
      .append(embedded::page_css)
      .append(parts.style)
      .append("</style>\n</head>\n<body>\n");
  page.append(parts.body).append("<script type=\"application/json\" id=\"data\">");
  // JSON has "<" inside strings only, where this means the same.
  append_replaced(page, parts.data, '<', "\\u003c");
  page.append("</script>\n<script>\n").append(parts.script).append("</script>\n</body>\n</html>\n");
  return page;
}

}  // namespace weft
