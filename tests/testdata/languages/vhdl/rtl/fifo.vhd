-- A queue between two clocks.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.fifo_pkg.all;

package fifo_pkg is
  constant MAX_DEPTH : integer := 1024;
  subtype index_t is integer range 0 to MAX_DEPTH;
  type mode_t is (NORMAL, LOOK_AHEAD);
  type memory_t is array (natural range <>) of std_logic_vector(7 downto 0);

  type status_t is record
    full  : std_logic;
    empty : std_logic;
  end record;

  -- The number of bits for a depth.
  function bits_for(depth : positive) return natural;
  procedure report_state(signal state : in status_t; name : string);
end package fifo_pkg;

package body fifo_pkg is
  function bits_for(depth : positive) return natural is
    variable n : natural := 0;
  begin
    while 2 ** n < depth loop
      n := n + 1;
    end loop;
    return n;
  end function;

  procedure report_state(signal state : in status_t; name : string) is
  begin
    report name & " full -- not a comment";
  end procedure;
end package body;

entity fifo is
  generic (
    WIDTH : positive := 8;
    DEPTH : positive := 16
  );
  port (
    clk, reset : in  std_logic;
    data_in    : in  std_logic_vector(WIDTH - 1 downto 0);
    write      : in  std_logic;
    data_out   : out std_logic_vector(WIDTH - 1 downto 0);
    status     : out status_t
  );
end entity fifo;

-- As fast as the block memory.
architecture rtl of fifo is
  constant BITS : natural := bits_for(DEPTH);

  signal head, tail : unsigned(BITS - 1 downto 0) := (others => '0');
  signal memory     : memory_t(0 to DEPTH - 1);
  signal count      : index_t := 0;

  attribute ram_style : string;

  component counter is
    generic (BITS : natural);
    port (
      clk   : in  std_logic;
      value : out unsigned(BITS - 1 downto 0)
    );
  end component;

  function next_index(value : unsigned) return unsigned is
  begin
    return value + 1;
  end function;
begin
  writer : process (clk)
    variable slot : natural;
  begin
    if rising_edge(clk) then
      if reset = '1' then
        tail <= (others => '0');
      elsif write = '1' then
        slot := to_integer(tail);
        memory(slot) <= data_in;
        tail <= next_index(tail);
      end if;
    end if;
  end process writer;

  reader : process (clk) is
  begin
    if rising_edge(clk) then
      data_out <= memory(to_integer(head));
    end if;
  end process;

  head_counter : counter
    generic map (BITS => BITS)
    port map (clk => clk, value => head);

  checker : entity work.fifo_checker
    port map (clk => clk, status => status);

  status.full  <= '1' when count = DEPTH else '0';
  status.empty <= '1' when count = 0 else '0';
end architecture rtl;
