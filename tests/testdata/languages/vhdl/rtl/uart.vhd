-- A serial port; entity not_an_entity is
library IEEE, vunit_lib;
context vunit_lib.vunit_context;
USE IEEE.STD_LOGIC_1164.ALL, ieee.numeric_std.unsigned;
use work.fifo_pkg.bits_for;

/* A block comment of VHDL-2008:
   signal not_a_signal : bit; */
package uart_pkg is
  generic (type element_t; LENGTH : natural := 8);
  constant BAUD, CLOCK : natural := 9600; constant PARITY : boolean := false;
  constant DEFERRED : integer;
  type state_t is (idle, start_bit, 'x', data, stop_bit);
  type byte_array_t is array (0 to 3) of std_logic_vector(7 downto 0);
  type link_t;
  type pointer_t is access link_t;
  type text_file is file of string;
  type link_t is record
    value : integer;
    after_it, before_it : pointer_t;
  end record link_t;
  type resistance is range 0 to 1E9
    units
      ohm;
      kohm = 1000 ohm;
    end units;
  type counter_t is protected
    procedure increment(by : integer := 1);
    impure function value return integer;
  end protected counter_t;
  subtype small_t is integer range 0 to 7;
  attribute keep : string;
  attribute keep of BAUD : constant is "true";
  signal global_reset : std_logic := '0';
  shared variable counter : counter_t;
  file log_file : text_file;
  alias byte_t is std_logic_vector;
  component transmitter
    port (clk : in std_logic);
  end component transmitter;
  function "+" (left, right : byte_array_t) return byte_array_t;
  pure function parity_of(
    value : std_logic_vector;
    odd   : boolean := false
  ) return std_logic;
  procedure send(
    signal line_out : out std_logic;
    constant value  : in std_logic_vector(7 downto 0);
    variable done   : inout boolean);
  function parity is new work.generic_parity generic map (LENGTH => 8);
end package uart_pkg;

package body uart_pkg is
  constant DEFERRED : integer := 3;
  type counter_t is protected body
    variable n : integer := 0;
    procedure increment(by : integer := 1) is
    begin
      n := n + by;
    end procedure increment;
    impure function value return integer is
    begin
      return n;
    end function value;
  end protected body counter_t;

  function parity_of(value : std_logic_vector; odd : boolean := false) return std_logic is
    variable result : std_logic := '0';
    function nested(x : std_logic) return std_logic is
    begin
      return not x;
    end function nested;
  begin
    for i in value'range loop
      result := result xor value(i);
    end loop;
    return nested(result);
  end function;

  procedure send(signal line_out : out std_logic; constant value : in std_logic_vector(7 downto 0);
                 variable done : inout boolean) is
  begin
    report "procedure not_here is" severity note;
    done := true;
  end;
end package body uart_pkg;

package byte_uart is new work.uart_pkg generic map (element_t => bit);

library ieee; use ieee.std_logic_1164.all;
entity UART is
  generic (WIDTH : positive := 8; LABEL_TEXT : string := "a;b");
  port (signal clk : in std_logic; rx : in std_logic; -- the line
        tx         : out std_logic := '1';
        bus_data   : inout std_logic_vector(WIDTH-1 downto 0) bus);
  constant LOCAL_LIMIT : natural := 3;
begin
  assert WIDTH > 0 report "no width";
end UART;

ARCHITECTURE Behaviour OF uart IS
  SIGNAL state, next_state : state_t;
  signal buffer_v : std_logic_vector(7 downto 0) := (others => '0'); signal busy : std_logic;
  type local_t is (a, b);
  for all : transmitter use entity work.transmitter(rtl);
  impure function is_busy return boolean is begin return busy = '1'; end function;
begin
  -- The receiver.
  RECEIVER: process (clk, rx) is
    variable count : integer range 0 to 7;
    procedure step is
    begin
      count := count + 1;
    end procedure step;
  begin
    case state is
      when idle => next_state <= start_bit;
      when others => null;
    end case;
  end process RECEIVER;

  process begin
    wait for 10 ns;
  end process;

  postponed_one : postponed process (all) begin
  end postponed process;

  lanes : for i in 0 to 3 generate
    signal lane : std_logic;
  begin
    lane_tx : entity work.transmitter port map (clk => clk);
  end generate lanes;

  wide : if WIDTH > 8 generate
    extra : component transmitter port map (clk);
  else generate
    plain : transmitter port map (clk => clk);
  end generate wide;

  guarded_part : block (clk = '1')
    signal inner : bit;
  begin
    inner_process : process begin wait; end process;
  end block guarded_part;

  drive : tx <= rx when busy = '0' else '1';
  with state select bus_data <= x"00" when idle, x"FF" when others;
  check : assert busy = '0' report "busy";
  caller : send(tx, buffer_v, done);
end architecture Behaviour;

configuration uart_config of uart is
  for Behaviour
  end for;
end configuration uart_config;

entity testbench is end entity;
architecture sim of testbench is begin end;
