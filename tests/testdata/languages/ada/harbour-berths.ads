package Harbour.Berths is

   Default_Depth : constant Float := 8.0;

   type Queue is tagged limited private;
   type Mooring is interface;

   --  Adds a ship at the end.
   procedure Add (To : in out Queue; Name : String);
   function Length (Of_Queue : Queue) return Natural;

   generic
      type Item is private;
      with function Weight (I : Item) return Natural;
   package Loads is
      procedure Put (I : Item);
      Heaviest : Natural := 0;
   end Loads;

   generic
      type Element is private;
   procedure Swap (A, B : in out Element);

   protected Gate is
      entry Pass;
      procedure Lift;
   private
      Open : Boolean := False;
   end Gate;

   task type Watch is
      entry Report (Number : Positive);
   end Watch;

private
   type Queue is tagged limited record
      Count : Natural := 0;
   end record;
end Harbour.Berths;
