program Fair(Input, Output);
uses Market.Stalls;
type TRide = (rdWheel, rdSwing);
var Ride: TRide;
procedure Run(R: TRide);
begin
  WriteLn(Ord(R));
end;
begin
  Run(rdWheel);
end.
