--  Berths of a harbour and the ships that wait for them.
with Ada.Text_IO; use Ada.Text_IO;
with Ada.Containers.Vectors;
with Harbour.Ships;
private with Harbour.Clock;

package body Harbour.Berths is

   Max_Berths : constant Positive := 40;
   Pi         : constant := 3.14159;
   Used, Free : Natural := 0;

   type Depth is delta 0.1 range 0.0 .. 30.0;
   type State is (Empty, Reserved, Taken);
   subtype Berth_Number is Positive range 1 .. Max_Berths;

   type Berth is record
      Number : Berth_Number;
      Water  : Depth := 8.0;
      Now    : State := Empty;
   end record;

   type Berth_List is array (Berth_Number) of Berth;
   type Ship_Access is access all Ships.Ship;

   No_Berth, Too_Deep : exception;

   package Ship_Vectors is new Ada.Containers.Vectors (Positive, Ship_Access);

   All_Berths : Berth_List;

   --  Finds a berth that is deep enough.
   function Find (Draught : Depth) return Berth_Number is
      Best : Natural := 0;

      function Fits (B : Berth) return Boolean is (B.Now = Empty and B.Water > Draught);
   begin
      for B of All_Berths loop
         if Fits (B) then
            Best := B.Number;
         end if;
      end loop;
      if Best = 0 then
         raise No_Berth with "none; procedure Not_Code is";
      end if;
      return Best;
   end Find;

   procedure Moor (Ship : in out Ships.Ship; At_Berth : out Berth_Number) is
   begin
      At_Berth := Find (Depth (Ships.Draught (Ship)));
      All_Berths (At_Berth).Now := Taken;
      Used := Used + 1;
      Put_Line ("moored at" & At_Berth'Image);
   end Moor;

   procedure Clear is null;

   function Is_Full return Boolean is (Used = Max_Berths);

   overriding procedure Finalize (Object : in out Berth) is
   begin
      Object.Now := Empty;
   end Finalize;

   function "<" (Left, Right : Berth) return Boolean is
   begin
      return Left.Water < Right.Water;
   end "<";

   protected body Gate is
      entry Pass when Open is
      begin
         Open := False;
      end Pass;

      procedure Lift is
      begin
         Open := True;
      end Lift;
   end Gate;

   task body Watch is
   begin
      loop
         accept Report (Number : Berth_Number) do
            Put_Line (Character'('x') & "watched");
         end Report;
      end loop;
   end Watch;

   package body Statistics is
      Total : Natural := 0;

      procedure Count (B : Berth) is
      begin
         if B.Now = Taken then
            Total := Total + 1;
         end if;
      end Count;
   end Statistics;

begin
   for I in Berth_Number loop
      All_Berths (I).Number := I;
   end loop;
end Harbour.Berths;
