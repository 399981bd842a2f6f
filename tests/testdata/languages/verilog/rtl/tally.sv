// Counts votes in hardware. module commented; endmodule
`timescale 1ns / 1ps
`default_nettype none
`include "tally_defs.svh"
`include <uvm_macros.svh>
`define WIDTH 16
`define ASSERT(name, cond) \
  name: assert property (@(posedge clk) disable iff (!rst_n) cond) \
    else $error("failed: %s", `"name`");
`ifdef SYNTHESIS
`define SIM 0
`else
`define SIM 1
`endif

/* package commented_pkg; endpackage */
package tally_pkg;
  import axi_pkg::*;
  import base_pkg::word_t, base_pkg::clog;
  export axi_pkg::*;

  parameter int unsigned Candidates = 8;
  localparam logic [3:0] Magic = 4'hA, Spare = '0;
  const string Banner = "module in_string; endmodule";

  typedef logic [`WIDTH-1:0] count_t;
  typedef enum logic [1:0] {
    IDLE  = 2'b00,
    COUNT,
    SEAL[2] = 2'd2
  } phase_e;
  typedef struct packed {
    logic        valid;
    logic [7:0]  station, booth;
    phase_e      phase;
  } vote_t;
  typedef union packed { vote_t vote; logic [17:0] raw; } vote_u;
  typedef struct { string name; int q[$]; } box_s;
  typedef class Ballot;
  typedef int counts_t [string];
  typedef virtual tally_if #(8) vif_t;

  function automatic int unsigned log2_up(input int unsigned n);
    int unsigned result = 0;
    while ((1 << result) < n) result++;
    return result;
  endfunction : log2_up

  function void report_all; endfunction

  task automatic wait_cycles(ref logic clk, input int n = 1);
    repeat (n) @(posedge clk);
  endtask

  import "DPI-C" function int c_hash(input string text);
  import "DPI-C" context task c_run(input int steps);
  export "DPI-C" function log2_up;

  virtual class Voter #(type T = int, parameter int N = 4) extends Person implements Countable;
    rand bit [7:0] choice;
    randc int booth;
    protected T history [N];
    local static int made = 0;
    const int id;
    event voted;
    semaphore lock = new(1);
    mailbox #(vote_t) box;

    typedef enum { YES, NO } answer_e;

    constraint in_range { choice inside {[0:Candidates-1]}; }
    constraint order_c;

    covergroup cg @(voted);
      option.per_instance = 1;
      cp_choice: coverpoint choice { bins low = {[0:3]}; bins high[] = {[4:7]}; }
      cp_cross: cross cp_choice, booth;
    endgroup

    function new(string name = "voter", int id);
      super.new(name);
      this.id = id;
      cg = new;
    endfunction : new

    pure virtual function bit decide(T options[]);
    extern virtual task vote(vif_t vif);
    extern function string to_string();
    static function Voter#(T, N) create(); return null; endfunction
    virtual protected function void seal(); made++; endfunction
  endclass : Voter

  task Voter::vote(vif_t vif);
    fork
      begin : inner_block
        automatic int local_count = 0;
        vif.send(choice);
      end
      #10 -> voted;
    join_any
    disable fork;
  endtask

  function string Voter::to_string();
    return $sformatf("function fake; %0d", choice);
  endfunction

  class Ballot;
    int marks[$];
  endclass
endpackage : tally_pkg

interface tally_if #(parameter int W = 8) (input wire clk, input wire rst_n);
  logic [W-1:0] data;
  logic valid, ready;

  clocking cb @(posedge clk);
    default input #1step output #2;
    output data, valid;
    input ready;
  endclocking

  modport source (output data, valid, input ready, import send);
  modport sink (input data, valid, output ready);

  task automatic send(input logic [W-1:0] value);
    cb.data <= value;
  endtask

  sequence handshake;
    valid ##[1:$] ready;
  endsequence
  property no_drop;
    @(posedge clk) valid && !ready |=> $stable(data);
  endproperty
  a_no_drop: assert property (no_drop);
endinterface

module tally_core
  import tally_pkg::*;
#(
  parameter  int unsigned N     = Candidates,
  parameter  type         cnt_t = count_t,
  localparam int unsigned AW    = $clog2(N)
) (
  input  wire              clk,
  input  wire              rst_n,
  tally_if.sink            votes,
  output cnt_t [N-1:0]     totals,
  output logic             done
);
  timeunit 1ns;
  genvar g;
  phase_e state_q, state_d;
  cnt_t counters [N];
  wire [AW-1:0] index = votes.data[AW-1:0];
  wire logic busy;
  reg [7:0] legacy_reg;
  logic signed [7:0] delta;
  tri1 pulled;
  real rate;

  assign busy = state_q != IDLE;
  assign done = (state_q == SEAL2);

  always_comb begin : next_state
    state_d = state_q;
    unique case (state_q)
      IDLE:    if (votes.valid) state_d = COUNT;
      COUNT:   state_d = done ? SEAL2 : COUNT;
      default: ;
    endcase
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) state_q <= IDLE;
    else        state_q <= state_d;
  end

  generate
    for (g = 0; g < N; g++) begin : g_counter
      cnt_t local_total;
      counter #(.T(cnt_t)) u_counter (.clk, .rst_n, .inc(index == g), .q(totals[g]));
      if (g > 2) begin : g_extra
        function automatic int extra(int x); return x + g; endfunction
      end
    end
  endgenerate

  function automatic logic [N-1:0] onehot(input logic [AW-1:0] i);
    onehot = '0;
    onehot[i] = 1'b1;
  endfunction

  task show;
    $display("task fake; %m");
  endtask

  adder u_add (.*), u_sub (.a(index), .b('1), .s());
  bind tally_core tally_checker u_check (.clk(clk));
  specify
    (clk => done) = 2;
  endspecify
  `ASSERT(a_done, done |-> !busy)
endmodule : tally_core

module counter #(type T = logic) (clk, rst_n, inc, q);
  input clk, rst_n;
  input inc;
  output reg q;
  parameter DEPTH = 4;
  initial begin
    q = 0;
  end
endmodule

primitive vote_mux (out, a, b);
  output out;
  input a, b;
  table
    0 ? : 0;
    1 1 : 1;
  endtable
endprimitive

program automatic tally_test (tally_if vif);
  initial begin
    $finish;
  end
endprogram

checker tally_checker (input clk);
endchecker

(* keep_hierarchy = "yes" *)
module top;
  import tally_pkg::*;
  logic clk = 0, rst_n;
  tally_if #(.W(8)) bus (.clk, .rst_n);
  tally_core dut (.clk, .rst_n, .votes(bus.sink), .totals(), .done());
  always #5 clk = ~clk;
  initial begin : stimulus
    automatic Voter#(int) v;
    string s = "endmodule";
    fork : spawned
      wait_cycles(clk, 3);
    join
  end
endmodule

config top_cfg;
  design work.top;
endconfig
