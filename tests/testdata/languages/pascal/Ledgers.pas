unit Ledgers;

{ Keeps ledgers of a club. }

interface

uses
  SysUtils, Classes, Generics.Collections, ClubTypes;

const
  MaxMembers = 500;
  DefaultFee: Currency = 25.0;

type
  TFeeKind = (fkNormal, fkReduced, fkNone);
  TFeeKinds = set of TFeeKind;
  TYears = array of Integer;

  ELedger = class(Exception);

  { One booking. }
  TBooking = record
    Date: TDateTime;
    Amount: Currency;
    Text: string;
  end;

  IPrinter = interface
    ['{8A6E2C1B-0000-0000-0000-000000000001}']
    procedure PrintLine(const S: string);
    function LineCount: Integer;
  end;

  TMember = class(TObject)
  private
    FName: string;
    FKind: TFeeKind;
    function GetFee: Currency;
  protected
    procedure Changed; virtual;
  public
    constructor Create(const AName: string; AKind: TFeeKind = fkNormal);
    destructor Destroy; override;
    class function Count: Integer; static;
    property Name: string read FName write FName;
    property Fee: Currency read GetFee;
  end;

  TLedger = class
  private
    FBookings: TList;
  public
    procedure Add(const Booking: TBooking); overload;
    procedure Add(Amount: Currency; const Text: string); overload;
    function Balance: Currency;
    procedure Print(Printer: IPrinter);
  end;

var
  Members: TList;
  Verbose, Strict: Boolean;

function FindMember(const Name: string): TMember;
procedure CloseYear(Year: Integer);

implementation

uses Reports;

const
  Separator = ';';

constructor TMember.Create(const AName: string; AKind: TFeeKind);
begin
  inherited Create;
  FName := AName;
  FKind := AKind;
  Members.Add(Self);
end;

destructor TMember.Destroy;
begin
  Members.Remove(Self);
  inherited;
end;

class function TMember.Count: Integer;
begin
  Result := Members.Count;
end;

function TMember.GetFee: Currency;
begin
  case FKind of
    fkReduced: Result := DefaultFee / 2;
    fkNone: Result := 0;
  else
    Result := DefaultFee;
  end;
end;

procedure TMember.Changed;
begin
  if Verbose then
    WriteLn('changed: procedure NotCode;');
end;

procedure TLedger.Add(const Booking: TBooking);
begin
  if FBookings.Count > MaxMembers then
    raise ELedger.Create('full');
end;

procedure TLedger.Add(Amount: Currency; const Text: string);
var
  B: TBooking;
begin
  B.Amount := Amount;
  B.Text := Text;
  Add(B);
end;

function TLedger.Balance: Currency;

  function Signed(const B: TBooking): Currency;
  begin
    Result := B.Amount;
  end;

begin
  Result := 0;
end;

procedure TLedger.Print(Printer: IPrinter);
begin
  Printer.PrintLine(Format('%s%s', [CurrToStr(Balance), Separator]));
end;

// Finds a member by name.
function FindMember(const Name: string): TMember;
begin
  Result := nil;
end;

procedure CloseYear(Year: Integer);
begin
  WriteReport(Year, FindMember('treasurer'));
end;

initialization
  Members := TList.Create;

end.
