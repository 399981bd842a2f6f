"""What a file defines although its grammar cannot parse it: macros, other dialects, a stray bracket."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.walk.extract import extract, parse

UVM_MONITOR = """\
class vote_monitor extends uvm_monitor;
  virtual vote_if vif;
  `uvm_component_utils(vote_monitor)
  `uvm_component_new

  // function not_code();
  function void build_phase(uvm_phase phase);
    if (!uvm_config_db#(virtual vote_if)::get(this, "", "vif", vif)) begin
      `uvm_fatal("NOVIF", {"no endclass for ", get_full_name()})
    end
  endfunction : build_phase

  pure virtual function int unsigned votes(int at);

  virtual task run_phase(uvm_phase phase);
    forever vif.wait_clocks(1);
  endtask
endclass

(* keep *) module top;
endmodule
"""

Z_SHELL = """\
(( $+commands[kubectl] )) || return
if [[ $commands[kubectl] -nt "$cache" || ! -s "$cache" ]]; then
  kubectl completion zsh | tee "$cache" >/dev/null &|
fi
for f in ${(f)"$(<$list)"}; do alias -g x=y; done
alias k='kubectl'
alias kdel='kubectl delete'
if [[ -n $ZSH_VERSION ]]; then
  _paint() {
    local w=1
  }
fi
cat <<END
alias not_an_alias='x'
END
function outer { print ${(kv)m}
  inner() { true
  }
}
"""

TCL = """\
proc ::votes::count {} {
    set pattern "{"
    return 1
}
proc ::votes::total {a {b 1}} {
    return $a
}
"""

POWERSHELL = """\
Describe 'Counting' {
    BeforeAll {
        $start = 1
        function global:Get-Votes {
            param([int] $At)
            $votes = 2
        }
    }
}
$total = @"
function Not-Defined {
}
"@
"""


def found(name, text):
    language = languages.load(name)
    source = text.encode()
    symbols = extract(language, parse(language, get_parser(language.grammar), source).root_node, source, "a").symbols
    return [(symbol.kind, symbol.qualified_name, symbol.line_start, symbol.line_end) for symbol in symbols]


def test_classes_with_macros_of_verilog_are_found_with_their_routines():
    symbols = found("verilog", UVM_MONITOR)

    assert [each for each in symbols if each[0] in ("class", "method", "fn")] == [
        ("class", "vote_monitor", 1, 18),
        ("method", "vote_monitor.build_phase", 7, 11),
        ("method", "vote_monitor.votes", 13, 13),
        ("method", "vote_monitor.run_phase", 15, 17),
        ("class", "top", 20, 21),
    ]


def test_functions_and_aliases_of_z_shell_are_found():
    assert {each for each in found("bash", Z_SHELL) if each[0] in ("fn", "macro")} == {
        ("macro", "k", 6, 6),
        ("macro", "kdel", 7, 7),
        ("fn", "_paint", 9, 11),
        ("fn", "outer", 16, 19),
        ("fn", "inner", 17, 18),
    }


def test_a_stray_brace_of_tcl_hides_no_procedure():
    assert {(each[1], each[2]) for each in found("tcl", TCL)} == {("votes::count", 1), ("votes::total", 5)}


def test_what_blocks_of_commands_define_is_found_and_their_variables_are_temporary():
    assert [each for each in found("powershell", POWERSHELL) if each[0] != "test"] == [
        ("fn", "Get-Votes", 4, 7),
        ("var", "total", 10, 13),
    ]


@pytest.mark.parametrize(
    "piece", ["class c;\n", "function f();\n", "endclass\n", "(* a *) module m;\n", '"', "/*", "alias a=b\n", "f() {\n"]
)
@pytest.mark.parametrize("name", ["bash", "verilog"])
def test_many_blocks_that_do_not_end_are_bounded(name, piece):
    assert len(found(name, piece * 2_000)) <= 2_001
