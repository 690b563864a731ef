// Goal: a page opens in a browser without an error and with its curves drawn, loads nothing, and no
// text in it becomes markup.
// Method: headless Chromium draws pages with curves, with points, with nothing, with hostile words
// and with a broken script; the page itself counts coloured pixels.

#include "cli/chart_page.h"

#include <cmath>
#include <limits>
#include <regex>

#include "cli/page_texts.h"
#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"

namespace tally::cli {
namespace {

using test::run_command;
using test::TemporaryFile;

std::string chromium() {
  return run_command("command -v chromium || command -v chromium-browser").output;
}

/// What a browser makes of a page.
struct Drawn {
  std::string dom, console;
  std::string root(const std::string& name) const {
    static const std::regex element("<html[^>]*>");
    std::smatch match;
    const std::regex attribute("data-" + name + "=\"([^\"]*)\"");
    if (!std::regex_search(dom, match, element)) return "";
    const std::string found = match.str();
    return std::regex_search(found, match, attribute) ? match[1].str() : "";
  }
  long ink() const { return std::stol(root("ink")); }
  bool is_clean() const { return root("errors").empty() && console.empty(); }
};

Drawn draw(const std::string& html) {
  TemporaryFile page("page.html"), profile("profile"), log("chromium.log");
  page.write(html);
  const std::string name = chromium();
  const std::string program = name.substr(0, name.find('\n'));
  Drawn drawn;
  drawn.dom =
      run_command("timeout 120 " + program +
                  " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + profile.path() +
                  " --virtual-time-budget=10000 --enable-logging=stderr --dump-dom"
                  " file://" +
                  page.path() + " 2>" + log.path())
          .output;
  drawn.console = run_command("grep CONSOLE " + log.path()).output;
  std::filesystem::remove_all(profile.path());
  return drawn;
}

Page page_with(std::vector<ChartSeries> series, Chart::Kind kind = Chart::Kind::curves) {
  Chart chart;
  chart.title = "all_reduce";
  chart.kind = kind;
  chart.x_name = "size";
  chart.views = {"time", "busbw"};
  chart.series = std::move(series);
  chart.marks = {{4096, "1"}};
  return {"A page", "tally sim --sweep", {chart}, {{"A table", {"a", "b"}, {{"1", "2"}}}}};
}

ChartSeries line(std::string name, double factor) {
  ChartSeries series{std::move(name), {}};
  for (double x = 1024; x <= 1 << 30; x *= 2) {
    series.points.push_back({x, {factor + x / 45e3, x / (factor + x / 45e3)}, "flat, link"});
  }
  return series;
}

}  // namespace

TEST_CASE("curves are drawn, without an error, and nothing is drawn of nothing", "[cli]") {
  if (chromium().empty()) return test::skip_case("no chromium");
  const Drawn curves = draw(html(page_with({line("flat", 10), line("tree", 20)})));
  CHECK(curves.is_clean());
  CHECK(curves.root("series") == "2");
  const Drawn empty = draw(html(page_with({{"flat", {}}})));
  CHECK(empty.is_clean());
  CHECK(empty.ink() == 0);
  const Drawn one = draw(html(page_with({line("flat", 10)})));
  CHECK(one.ink() > 500);  // a line across the page is as many pixels long
  CHECK(curves.ink() > one.ink());
  const Drawn points = draw(html(page_with({line("measured", 10)}, Chart::Kind::points)));
  CHECK(points.is_clean());
  CHECK(points.ink() > 100);
}

TEST_CASE("an error in a page is seen", "[cli]") {
  if (chromium().empty()) return test::skip_case("no chromium");
  std::string broken = html(page_with({line("flat", 10)}));
  const std::string call = "JSON.parse(";
  const std::size_t at = broken.rfind(call);
  REQUIRE(at != std::string::npos);
  broken.replace(at, call.size(), "JSON.prase(");
  const Drawn drawn = draw(broken);
  CHECK_FALSE(drawn.root("errors").empty());
  CHECK_FALSE(drawn.console.empty());
  CHECK_FALSE(drawn.is_clean());
}

TEST_CASE("a page may load nothing, and a browser holds it to that", "[cli]") {
  const std::string text = html(page_with({line("flat", 10)}));
  CHECK(text.find(" src=") == std::string::npos);
  CHECK(text.find("<link") == std::string::npos);
  CHECK(text.find("default-src 'none'") != std::string::npos);
  if (chromium().empty()) return test::skip_case("no chromium");
  std::string loads = text;
  loads.replace(loads.find("<main"), 0, "<img src=\"file:///x.png\">");
  CHECK(draw(loads).console.find("Content Security Policy") != std::string::npos);
}

TEST_CASE("words stay words, wherever they are", "[cli]") {
  const std::string words = "</script><!-- <img src=x onerror=alert(1)> & \" ' \x80 µ";
  Page page = page_with({line(words, 10)});
  page.title = page.command = words;
  page.charts[0].title = page.charts[0].x_name = page.charts[0].views[0] = words;
  page.charts[0].series[0].points[0].text = page.charts[0].marks[0].text = words;
  page.tables[0] = {words, {words}, {{words}}};
  const std::string text = html(page);
  CHECK(text.find("<img") == std::string::npos);
  CHECK(text.find("</script><!--") == std::string::npos);
  CHECK(text.find("&lt;img src=x onerror=alert(1)&gt; &amp; &quot; &#39;") != std::string::npos);
  if (chromium().empty()) return test::skip_case("no chromium");
  const Drawn drawn = draw(text);
  CHECK(drawn.is_clean());
  CHECK(drawn.ink() > 500);
  CHECK(drawn.dom.find("<img") == std::string::npos);
}

TEST_CASE("what is not finite is left out of a chart", "[cli]") {
  ChartSeries series{"flat", {}};
  const double infinity = std::numeric_limits<double>::infinity();
  series.points = {
      {1, {1, 1}, "is kept"}, {2, {infinity, 1}, "is left"}, {std::nan(""), {1, 1}, "is out"}};
  const std::string text = html(page_with({series}));
  CHECK(text.find("\"is kept\"") != std::string::npos);
  CHECK(text.find("\"is left\"") == std::string::npos);
  CHECK(text.find("\"is out\"") == std::string::npos);
}

TEST_CASE("Chart.js comes with its licence", "[cli]") {
  CHECK(page_texts()[kChartLibrary].text.find("Chart.js") != std::string_view::npos);
  CHECK(page_texts()[kChartLibrary].text.find("Released under the MIT License") !=
        std::string_view::npos);
}

}  // namespace tally::cli
