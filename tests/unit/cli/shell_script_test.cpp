// Tests that scripts are read as by a shell: the words of commands are those that bash gives to the
// commands. Values that bash could only know by running a program are unknown.

#include "cli/options/configurations/shell_script.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace ddl;

namespace {

/// Returns the words of all commands `args …`, each in brackets.
std::string words_of(const std::string& text, const ShellInputs& inputs = {}) {
  std::string words;
  for (const ScriptCommand& command : read_shell_script(text, "run.sh", inputs).commands) {
    if (command.words.front().text != "args") continue;
    for (std::size_t i = 1; i < command.words.size(); ++i) words += fmt::format("[{}]", command.words[i].text);
    words += "\n";
  }
  return words;
}

/// Returns the words of all commands `args …` from bash.
std::string words_of_bash(const std::string& text) {
  const std::string path = fmt::format("/tmp/ddl-shell-test-{}.sh", ::getpid());
  std::FILE* const file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  const std::string script = "args() { for each in \"$@\"; do printf '[%s]' \"$each\"; done; echo; }\n" + text;
  std::fwrite(script.data(), 1, script.size(), file);
  std::fclose(file);
  std::FILE* const shell = ::popen(fmt::format("env -i /bin/bash {} 2>/dev/null", path).c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string words;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), shell) != nullptr) words += buffer.data();
  ::pclose(shell);
  ::unlink(path.c_str());
  return words;
}

/// Checks that the words of each script are those of bash; skips the test case if there is no bash. `before`: definitions
/// for bash alone.
void compare_with_bash(const std::vector<std::string>& scripts, const std::string& before = {}) {
  if (::access("/bin/bash", X_OK) != 0) {
    cannot_run("there is no /bin/bash");
    return;
  }
  for (const std::string& script : scripts) {
    INFO(script);
    const std::string expected = words_of_bash(before + script);
    CHECK_FALSE(expected.empty());
    CHECK(words_of(script) == expected);
  }
}

/// Returns scripts whose words depend only on the script.
const std::vector<std::string>& decided_scripts() {
  static const std::vector<std::string> all{
      "A=1; args $A \"$A\" '$A' ${A}b\n",
      "A='x  y'; args $A \"$A\" pre$A\n",
      "A=(a 'b c' d); args ${A[@]}; args \"${A[@]}\"; args \"${A[*]}\"; args ${#A[@]} ${A[1]}\n",
      "A=(--x 1); B=\"run ${A[@]} --y\"; args $B; A+=(--z); args \"p ${A[*]} q\"\n",
      "A=--x; A+=' --y'; A=\"$A --z\"; args $A\n",
      "A=a/b/c; args ${A%/*} ${A%%/*} ${A#*/} ${A##*/}\n",
      ": \"${B:=x y}\" ${C=z}; args $B ${C}\n",
      "A=$(dirname a/b); args $A `basename a/b.sh .sh` $(dirname b)\n",
      "S=7b\nif [ $S = 7b ]; then L=32\nelif [ $S = 13b ]; then L=40\nelse L=1\nfi\nargs $L\n",
      "S=13b\nif [[ $S == 7b ]]; then L=32; elif [[ $S == 1?b && 2 -gt 1 ]]; then L=40; fi; args $L\n",
      "A=3; if [[ $A -gt 2 || $A -lt 0 ]] && ! [ $A -eq 4 ]; then args yes; else args no; fi\n",
      "A=3; if (( A * 2 > 5 )); then B=1; else B=2; fi; args $B $((A + B * 2)) $(( (A - 1) % 2 )) $((A > 2 && B == 1))\n",
      "A=7; B=2; args $[A * $B] $[ ($A - 1) / 2 ]x \"$[A%B]\"\n",
      "A=x; case $A in y) B=1;; x|z) B=2;; *) B=3;; esac; args $B\n",
      "A=abc; case \"$A\" in a*c) args star;; esac; case $A in a?) args two;; *) args other;; esac\n",
      "A=; args ${A:-d} ${B:-e} ${A-f} ${C-} end; args ${D:=8} ${A:+no} ${S:+no} last\n",
      "f() { local n=$1; shift; args $n \"$@\"; }; f 1 2 'a b'; f x\n",
      "function g { args in $1; }\ng 5\nif true; then g 6; fi\n",
      "eval \"A='b c'\"; args $A\n",
      ": <<EOF\nargs not\nEOF\nargs after # comment\n",
      "cat <<'EOF' > /dev/null && args next\nargs not\nEOF\nargs after 2>&1 > /dev/stdout; args \\\n  joined\n",
      "A=1 && args $A; false && args no; true || args no; [ 1 = 2 ] || args or\n",
      "for x in a; do args $x; done\n",
      "A=QWEN; args ${A,,} ${A%EN} $(echo hi $A)\n",
      "(args sub; args shell); { args group; }\n",
      "export A=2 B='c d'; readonly C=3; args $A \"$B\" $C; unset A; args ${A:-gone}\n",
      "if [ -z \"$UNSET_HERE\" ]; then args empty; fi; [ -n \"$UNSET_HERE\" ] && args full\n",
      "read -r -d '' T <<EOF\n--a 1\n--b 2\nEOF\nargs $T\n",
      "args $'a\\tb' a\\ b \"c\\\"d\"\n",
      "A=5; while [ $# -gt 0 ]; do A=$1; shift; done; args $A\n",
  };
  return all;
}

Certainty certainty_of(const std::string& script, std::size_t word) {
  const ShellScript read = read_shell_script(script, "run.sh", {});
  REQUIRE(!read.commands.empty());
  REQUIRE(read.commands.back().words.size() > word);
  return read.commands.back().words[word].certainty();
}

}  // namespace

TEST_CASE("words of a script are the words that bash passes to commands") {
  std::vector<std::string> scripts = decided_scripts();
  // A tab is written with a backslash, so such scripts are not compared.
  std::erase_if(scripts, [](const std::string& script) { return script.find("$'") != std::string::npos; });
  compare_with_bash(scripts);
}

TEST_CASE("if a text has an unknown part, its other words are known") {
  const std::string script = "D=\"--nproc 8 --rank $RANK_HERE --nodes 4\"\nargs $D\n";
  CHECK(certainty_of(script, 2) == Certainty::known);
  CHECK(certainty_of(script, 4) == Certainty::outside);
  CHECK(certainty_of(script, 6) == Certainty::known);
  CHECK(certainty_of("args $(nvidia-smi -L | wc -l) b\n", 1) == Certainty::outside);
  CHECK(certainty_of("args $(nvidia-smi -L | wc -l) b\n", 2) == Certainty::known);
}

TEST_CASE("after branches that are not decided, values on which the branches agree are known") {
  const std::string appended = "D='--a 1'\nif [ $C = x ]; then D=\"$D --b\"; fi\nargs $D\n";
  CHECK(certainty_of(appended, 2) == Certainty::known);
  CHECK(certainty_of(appended, 3) == Certainty::optional);
  const std::string array = "D=(--a 1)\nif [ $C = x ]; then D+=(--b); else D+=(--c); fi\nargs ${D[@]}\n";
  CHECK(certainty_of(array, 2) == Certainty::known);
  CHECK(certainty_of(array, 3) == Certainty::of_branches);
  CHECK(certainty_of("if [ $C = x ]; then T=2; else T=4; fi\nargs $T\n", 1) == Certainty::of_branches);
  // The options of all branches are kept. An option that another branch lacks is optional.
  for (const std::string list : {"D=()\ncase $C in a) D+=(--b 1 --e) ;; b) D+=(--c 2) ;; esac\nargs ${D[@]}\n",
                                 "case $C in z) D= ;; a) D='--b 1 --e' ;; b) D='--c 2' ;; *) D= ;; esac\nargs $D\n"}) {
    CAPTURE(list);
    CHECK(words_of(list) == "[--b][1][--e][--c][2]\n");
    for (const std::size_t word : {1U, 3U, 4U}) CHECK(certainty_of(list, word) == Certainty::optional);
  }
  const std::string either = "if [ $C = x ]; then D='--a 1 --b 2'; else D='--b 3 --a 1 --c'; fi\nargs $D\n";
  CHECK(words_of(either) == "[--b][3][--a][1][--c]\n");
  CHECK(certainty_of(either, 1) == Certainty::of_branches);
  CHECK(certainty_of(either, 3) == Certainty::known);
  CHECK(certainty_of(either, 5) == Certainty::optional);
  CHECK(certainty_of("if [ $C = x ]; then T=2; else T=2; fi\nargs $T\n", 1) == Certainty::known);
  CHECK(certainty_of("T=2\ncase $C in a) T=3;; esac\nargs $T\n", 1) == Certainty::of_branches);
  CHECK(certainty_of("for T in 1 2 4; do\nargs $T\ndone\n", 1) == Certainty::of_branches);
}

TEST_CASE("inner shells and included files are read, and what is missing is named") {
  ShellInputs inputs;
  inputs.load = [](const std::string& name) -> std::optional<SourcedFile> {
    if (name != "./sizes.sh") return std::nullopt;
    return SourcedFile{.path = "sizes.sh", .text = "SIZES=(--layers 4)\n"};
  };
  CHECK(words_of("HERE=\"$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" &>/dev/null && pwd)\"\nsource \"$HERE/sizes.sh\"\n"
                 "args ${SIZES[@]}\n",
                 inputs) == "[--layers][4]\n");
  CHECK(words_of("export X='a b'\nsrun -N 2 bash -c 'args $X'\n") == "[a][b]\n");
  CHECK(words_of("X=1\nbash -c \"Y=2; args $X \\$Y\"\n") == "[1][2]\n");
  CHECK(words_of("ssh node \"cd x && args 3\"\nbash <<EOF\nargs 4\nEOF\n") == "[3]\n[4]\n");
  CHECK(words_of("args $(cd \"$(dirname \"$0\")/../x\" > /dev/null 2>&1 && pwd)/y ${BASH_SOURCE[0]%/*} `basename $0`\n") ==
        "[../x/y][run.sh][run.sh]\n");
  inputs.load = [](const std::string& name) -> std::optional<SourcedFile> {
    if (name == "lib/own.sh") return SourcedFile{.path = "lib/own.sh", .text = ". $(dirname ${BASH_SOURCE[0]})/b.sh\n"};
    return SourcedFile{.path = name, .text = fmt::format("args {} $0 $(dirname ${{BASH_SOURCE[0]}})\n", name)};
  };
  CHECK(words_of(". lib/own.sh\nbash other.sh\nsbatch $0\n", inputs) ==
        "[lib/b.sh][run.sh][lib]\n[other.sh][other.sh][.]\n");
  inputs.load = {};
  const ShellScript missing = read_shell_script("\n. ./none.sh\nbash other.sh\n", "run.sh", inputs);
  REQUIRE(missing.skipped.size() == 2);
  CHECK(missing.skipped[0] == "run.sh:2: 'source ./none.sh': no such script is next to this one");
  CHECK(missing.skipped[1] == "run.sh:3: the file launches 'other.sh': pass that file instead");
}

TEST_CASE("a script gets values from outside by their names") {
  CHECK(words_of("args $1 ${2:-b} $N\n", {.values = script_values_in({"1=4", "N=x y"}), .load = {}}) == "[4][b][x][y]\n");
  CHECK(words_of("if [ $MODE = big ]; then args 1; else args 2; fi\n", {.values = {{"MODE", "big"}}, .load = {}}) ==
        "[1]\n");
  CHECK_THROWS_AS(script_values_in({"4"}), Error);
  CHECK_THROWS_AS(script_values_in({"a-b=4"}), Error);
  CHECK(words_of("args ${1:=a} $1 ${N:=b} $N\n") == "[a][$1][b][b]\n");
  CHECK(words_of(": \"${L:=\"\"}\"\nif [ -n \"$L\" ]; then args 1; else args 2; fi\n") == "[2]\n");
  CHECK(read_shell_script("A=1\nB=$C\nif [ $C = big ]; then A=2; fi\nexport D=\"x y\"\n", "run.sh", {}).values ==
        ScriptValues{{"D", "x y"}});
}

TEST_CASE("an assignment before a command is for that command alone, but an expansion assigns for all that follow") {
  const auto assigned = read_shell_script("A=1 B=${C:=2} args\n: ${D:=3}\nargs\n", "run.sh", {}).assigned;
  std::string ends;
  for (const ShellAssignment& each : assigned) ends += each.name + (each.end ? " ends " : " stays ");
  CHECK(ends == "A ends C stays B ends D stays ");
}

TEST_CASE("an exit with an error is a guard, which the user passes") {
  CHECK(words_of("if [ -z \"$BASE_FOLDER\" ]; then echo none; exit 1; fi\nargs 1\n") == "[1]\n");
  CHECK(words_of("args 1\nexit 0\nargs 2\n") == "[1]\n");
}

TEST_CASE("a value that grows without end is refused") {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK_THROWS_AS(words_of(doubling), Error);
  CHECK_NOTHROW(words_of("f() { f; }\nf\n"));
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "if [ $A ]; then\n";
  CHECK_THROWS_AS(words_of(nested), Error);
  std::string parentheses(100'000, '(');
  CHECK_NOTHROW(words_of(parentheses));
  std::string groups;
  for (int i = 0; i < 5000; ++i) groups += "{ ";
  CHECK_THROWS_AS(words_of(groups), Error);
}

TEST_CASE("a counted loop is followed turn by turn") {
  const std::string document = "for ((i=0;i<2;i++)); do\ncat > /dev/null <<EOF\nx\nEOF\n";
  compare_with_bash(
      {
          "K=1; for ((i=0;i<2;i++)); do i=5; K=$((K*2)); done; args $K $i\n",
          "K=1; for ((i=2; i<5; ++i)); do K=$((K*2)); done; args $K $i\n",
          "for ((i=0;i<2;i++)); do\nread -r -d '' T <<EOF\nx$i\nEOF\ndone\nargs $T\n",
          "for ((i=0;i<3;i++)); do L+=(n$i); done; args \"$(IFS=,; echo \"${L[*]}\")\"\n",
          "for ((i=0;i<2;i++)); do read -r A <<< x; done\nM=4\n: <<EOF\ny\nEOF\nargs $M\n",
          document + "done\nargs 1\n",
          "M=1\n" + document + "done\nM=4\ncat > /dev/null <<EOF\ny\nEOF\nargs $M\n",
      },
      "cat() { :; }\n");
}

TEST_CASE("a loop whose numbers are unknown is not followed") {
  // Numbers that are unknown after a turn, or too large.
  for (const std::string loop :
       {"for ((i=0;i<4;i++)); do A=$((i++)); K=3; done", "for ((i=0;i<4;i++)); do (( i++ )); K=3; done",
        "for ((i=999999999999999999*9+223372036854775816;1;i++)); do K=3; i=$((i)); done",
        "for ((i=0;i<4;i++)); do break; done; K=$i"}) {
    INFO(loop);
    CHECK(certainty_of("K=2\n" + loop + "\nargs $K\n", 1) != Certainty::known);
  }
}

TEST_CASE("a loop over known words is followed turn by turn") {
  compare_with_bash({"X=; for s in 1 2 3; do X=\"$X n$s\"; done; args $X $s\n",
                     "for s in a b; do mkdir -p $s; L+=(\"--x $s\"); done; args \"${L[@]}\"\n",
                     "N=2; for s in 1 $N; do K=$((s * 2)); done; args $K\n", "for s in 1; do args $s; done; args $s\n",
                     // A loop over one word is read once, and a loop in it is followed.
                     "for h in a; do for ((i=0;i<4;i++)); do G=$((i+1)); done; done; args $G\n",
                     "X=; for h in a; do for s in 1 2; do X=\"$X $s\"; done; done; args $X $h\n"},
                    "mkdir() { :; }\n");
}

TEST_CASE("a loop over words is not followed if it starts commands, is left early, or has unknown words") {
  for (const std::string loop : {"for s in 2 3; do args $s; done", "for s in $A 3; do X=$s; done; args $X",
                                 "for s in 2 3; do break; done; args $s", "for s in *.json a; do X=$s; done; args $X"}) {
    INFO(loop);
    CHECK(certainty_of(loop + "\n", 1) != Certainty::known);
  }
  const std::string stages = "for s in 1 2 3; do\ncat > ds_$s.json <<EOF\nstage $s\nEOF\ndone\n";
  const ShellScript script = read_shell_script(stages, "run.sh", {});
  REQUIRE(script.documents.size() == 3);
  CHECK(script.documents[1].name == "ds_2.json");
  CHECK(script.documents[1].text == "stage 2\n");
  CHECK_FALSE(script.documents[1].differs);
}

TEST_CASE("a value that --set gives for the variable of a loop decides which turn is read") {
  const ShellInputs second{.values = {{"s", "2"}}};
  CHECK(words_of("for s in 1 2 3; do args $s; done\n", second) == "[2]\n");
  const ShellScript script = read_shell_script("for s in 1 2 3; do args $s; done\n", "run.sh", second);
  CHECK(script.commands.back().words[1].is_known());
  CHECK(script.skipped.empty());
  const ShellInputs other{.values = {{"s", "9"}}};
  const ShellScript odd = read_shell_script("for s in 1 2 3; do args $s; done\n", "run.sh", other);
  REQUIRE(odd.skipped.size() == 1);
  CHECK(odd.skipped[0] == "run.sh:1: the loop has no value '9' for the variable s, which --set sets");
  CHECK(read_shell_script("for s in *.json; do args $s; done\n", "run.sh", other).skipped.empty());
}

TEST_CASE("the work of loops is bounded, not their number") {
  std::string many;
  for (int i = 0; i < 300; ++i) many += "for f in a b; do :; done\n";
  CHECK(words_of(many + "for ((i=0;i<4;i++)); do G=$((i+1)); done\nargs $G\n") == "[4]\n");
}

TEST_CASE("a loop that takes too long leaves nothing behind") {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "for ((i=0;i<1300;i++)); do A=1; B=2; C=3; done\n";
  CHECK(words_of(many + "args 1\n") == "[1]\n");
  CHECK(words_of("for ((i=0;i<1500;i++)); do LIST=\"$LIST,node$i\"; done\nargs 1\n") == "[1]\n");
  CHECK(words_of("f() { A=1; B=2; }\nfor ((i=0;i<9000;i++)); do f; f; f; f; f; f; f; f; f; done\nargs 1\n") == "[1]\n");
  // A file that the first turn includes is not at hand after the loop, and neither are its functions.
  ShellInputs inputs;
  const std::string includes = "i=1\nfor ((i=0;i<2;i++)); do\n[ $i -eq 0 ] && source lib.sh\nls\ndone\n";
  inputs.load = [](const std::string& name) { return SourcedFile{.path = name, .text = "f() { args $U; }\n"}; };
  CHECK_NOTHROW(words_of("source other.sh\nf\n", inputs));
  CHECK(words_of(includes + "f\n", inputs) == "[$U]\n");
  const ShellScript script = read_shell_script(includes + "f\n", "run.sh", inputs);
  for (const ScriptCommand& command : script.commands) {
    for (const PlacedText& word : command.words) CHECK(word.origin().file < script.sources.size());
  }
}

TEST_CASE("printf sets a variable, and IFS joins an array but not the spaces of its items") {
  compare_with_bash(
      {"printf -v K '%02d' 2; args $K\n", "printf -v K '%03d-%d%%' 12 7; args $K\n", "printf -v K %s-%s a; args $K\n",
       "printf -v K -- '-%d'; args $K\n", "args \"$(IFS=,; echo \"2 --x 2\")\"\n",
       "L=(a 'b c' d); args \"$(IFS=,; echo \"${L[*]}\")\" \"$(IFS=', '; echo \"${L[*]}\")\"\n",
       "L=(a 'b c' d); args \"$(IFS=$'\\n'; echo \"${L[*]}\")\" \"$(IFS=';'; echo \"${L[*]}\")\"\n",
       "L=(a b); args \"$(IFS=; echo \"${L[*]}\")\" \"$(IFS=:; echo ${L[*]})\" $(IFS=' '; echo \"${L[*]}\")\n"});
}

TEST_CASE("what printf writes is unknown if its format is not supported") {
  for (const std::string format : {"'%5.2f' 2", "'%x' 2", "%d a", "'%02d' 08", "'%s\\n' 2", "%s 2 3"}) {
    INFO(format);
    CHECK(certainty_of("printf -v K " + format + "\nargs $K\n", 1) == Certainty::outside);
    CHECK(words_of("printf -v K " + format + "\nargs $K\n") == "[$K]\n");
  }
  CHECK(certainty_of("L=(a b)\nargs $(IFS=$S; echo \"${L[*]}\")\n", 1) == Certainty::outside);
}
