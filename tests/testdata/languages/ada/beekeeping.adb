--  Keeps bees: hives, queens, and the tasks that feed them.
--  procedure Fake is null;
pragma Ada_2012;
with Ada.Text_IO; use Ada.Text_IO;
with Ada.Containers.Vectors, Ada.Strings.Unbounded;
with Interfaces.C;
limited with Beekeeping.Market;
private with Ada.Finalization;
use type Interfaces.C.int;

package body Beekeeping is

   package IO renames Ada.Text_IO;
   package Unbounded renames Ada.Strings.Unbounded;
   use Unbounded;

   Max_Frames : constant := 11;
   Default_Name, Spare_Name : constant String := "package body Not_A_Package is";
   Counter : aliased Natural := 0;
   Full : exception;
   Old_Name : Hive_Error renames Full;

   type Gram is delta 0.01 range 0.0 .. 100_000.0;
   type Hive_Id is new Positive range 1 .. 500;
   subtype Small_Id is Hive_Id range 1 .. 10;
   type Flags is mod 2 ** 8 with Size => 8;
   type Mood is (Calm, Swarming, 'Q', Robbing);
   for Mood use (Calm => 1, Swarming => 2, 'Q' => 3, Robbing => 4);
   type Matrix is array (Positive range <>, Positive range <>) of Float;
   type Hive;
   type Hive_Access is access all Hive;
   type Visitor is access procedure (Item : in out Hive);
   type Measured is interface and Limited_Thing;

   type Hive (Frames : Positive := 10) is tagged limited record
      Id      : Hive_Id;
      Weight  : Gram := 0.0;
      Temper, Health : Mood := Calm;
      Contents : String (1 .. Frames);
      case Frames is
         when 1 .. 5 => Is_Nucleus : Boolean;
         when others => null;
      end case;
   end record with Pack;

   type Queen is new Hive and Measured with private;
   type Empty is null record;

   generic
      type Element (<>) is private;
      type Index is (<>);
      with function "<" (Left, Right : Element) return Boolean is <>;
      with procedure Visit (Item : Element);
      Limit : Positive := 10;
   package Sorted is
      type List is tagged private;
      procedure Insert (Into : in out List; Item : Element);
      function Length (Of_List : List) return Natural with Pre => True;
   private
      type List is tagged null record;
   end Sorted;

   package body Sorted is
      procedure Insert (Into : in out List; Item : Element) is null;
      function Length (Of_List : List) return Natural is (0);
   begin
      null;
   end Sorted;

   generic
      type T is range <>;
   function Half (Value : T) return T;

   function Half (Value : T) return T is (Value / 2);

   package Int_Vectors is new Ada.Containers.Vectors (Natural, Integer);
   function Half_Of is new Half (Integer);
   procedure Free is new Ada.Unchecked_Deallocation (Hive, Hive_Access);

   function "+" (Left, Right : Hive) return Gram is
     (Left.Weight + Right.Weight);

   function Image (Item : Hive) return String renames Hive_Image;
   procedure Log (Text : String; Level : Natural := 0) with Inline, Global => null;
   procedure Stub is separate;
   procedure Nothing is null;

   function Weigh
     (Item    : Hive'Class;
      Exactly : Boolean := False)
      return Gram
     with
       Pre  => Item.Frames > 0,
       Post => Weigh'Result >= 0.0
   is
      Total : Gram := 0.0;
      type Local is new Integer;

      function Frame_Weight (Number : Positive) return Gram is
      begin
         return Gram (Number) * 0.5;
      end Frame_Weight;
   begin
      Outer :
      for I in 1 .. Item.Frames loop
         Total := Total + Frame_Weight (I);
         exit Outer when Total > 1_000.0;
      end loop Outer;

      declare
         Rounded : constant Gram := Total;
         procedure Nested is
         begin
            Put_Line ("function Quoted return ""Text"" is");
         end Nested;
      begin
         Nested;
         return Rounded;
      exception
         when Constraint_Error | Full =>
            raise Full with "hive " & Item.Id'Image;
      end;
   end Weigh;

   procedure Log (Text : String; Level : Natural := 0) is
      C : constant Character := ''';
   begin
      case Level is
         when 0 => IO.Put (Text & C);
         when others => null;
      end case;
      if Level > 1 then Counter := Counter + 1; elsif Level < 0 then null; end if;
   end Log;

   protected Honey_Store is
      procedure Put (Amount : Gram);
      entry Take (Amount : out Gram);
      function Level return Gram;
   private
      Stored : Gram := 0.0;
   end Honey_Store;

   protected body Honey_Store is
      procedure Put (Amount : Gram) is
      begin
         Stored := Stored + Amount;
      end Put;

      entry Take (Amount : out Gram) when Stored > 0.0 is
      begin
         Amount := Stored;
      end Take;

      function Level return Gram is (Stored);
   end Honey_Store;

   task type Feeder (Priority : Natural) is
      entry Start (Id : Hive_Id);
      entry Stop;
   end Feeder;

   task Smoker;

   task body Feeder is
      Current : Hive_Id;
   begin
      accept Start (Id : Hive_Id) do
         Current := Id;
      end Start;
      loop
         select
            accept Stop;
            exit;
         or
            delay 1.0;
         end select;
      end loop;
   end Feeder;

   task body Smoker is
   begin
      null;
   end Smoker;

   overriding procedure Initialize (Item : in out Queen) is
   begin
      Item.Temper := Swarming;
   end Initialize;

   not overriding function Age (Item : Queen) return Natural is abstract;

begin
   Log ("ready -- not a comment");
end Beekeeping;

separate (Beekeeping)
procedure Stub is
begin
   null;
end Stub;

with Beekeeping;
procedure Beekeeping_Main is
begin
   Beekeeping.Log ("main");
end Beekeeping_Main;
