// A serial port.
`timescale 1ns / 1ps
`include "uart_defs.svh"
`define BAUD 115200
`define DIVISOR(clock) ((clock) / `BAUD)

package uart_pkg;
  parameter int DEPTH = 16;
  localparam WIDTH = 8;

  typedef enum logic [1:0] {
    IDLE,
    START,
    DATA,
    STOP
  } state_t;

  typedef struct packed {
    logic [7:0] data;
    logic parity;
  } frame_t;

  // Even parity of a byte.
  function automatic logic parity(input logic [7:0] value);
    return ^value;
  endfunction
endpackage

interface stream_if #(parameter W = 8) (input logic clk);
  logic [W-1:0] data;
  logic valid, ready;

  modport source(output data, valid, input ready);
  modport sink(input data, valid, output ready);
endinterface

/* Sends bytes,
   the lowest bit first. */
module uart_tx
  import uart_pkg::*;
#(
  parameter CLOCK = 50_000_000,
  parameter int STOP_BITS = 1
) (
  input  logic       clk,
  input  logic       reset_n,
  input  logic [7:0] data,
  input  logic       valid,
  output logic       ready,
  output reg         tx
);
  localparam int TICKS = `DIVISOR(CLOCK);

  state_t state, next_state;
  reg [15:0] counter = 0;
  logic [2:0] bit_index;
  wire tick;
  wire [7:0] shifted;

  assign tick = counter == TICKS;
  assign ready = state == IDLE;

  always_ff @(posedge clk or negedge reset_n) begin : registers
    if (!reset_n) begin
      state <= IDLE;
      tx <= 1'b1;
    end else begin
      state <= next_state;
      counter <= tick ? 0 : counter + 1;
    end
  end

  always_comb begin
    next_state = state;
    case (state)
      IDLE: if (valid) next_state = START;
      START: if (tick) next_state = DATA;
      DATA: if (tick && bit_index == 7) next_state = STOP;
      default: if (tick) next_state = IDLE;
    endcase
  end

  shifter #(.WIDTH(8)) u_shifter (
    .clk(clk),
    .in(data),
    .out(shifted)
  );

  task send(input logic [7:0] value);
    $display("sending %h // not a comment", value);
  endtask

  generate
    if (STOP_BITS > 1) begin : g_long
      wire long_stop;
      assign long_stop = tick;
    end
  endgenerate
endmodule

module shifter #(parameter WIDTH = 8) (input clk, input [WIDTH-1:0] in, output [WIDTH-1:0] out);
  reg [WIDTH-1:0] held;
  integer i;
  always @(posedge clk) held <= in;
  assign out = held >> 1;

  function [WIDTH-1:0] reverse;
    input [WIDTH-1:0] value;
    begin
      for (i = 0; i < WIDTH; i = i + 1)
        reverse[i] = value[WIDTH-1-i];
    end
  endfunction
endmodule

class Driver extends Component;
  rand bit [7:0] payload;
  static int count = 0;
  virtual stream_if bus;

  function new(string name);
    super.new(name);
    count++;
  endfunction

  virtual task run();
    forever drive(payload);
  endtask

  extern protected function void drive(bit [7:0] value);
endclass
