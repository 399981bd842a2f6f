{$mode objfpc}{$H+}
{$IFDEF FPC}{$modeswitch advancedrecords}{$ENDIF}
(* Stalls of a market: who rents them.
   procedure NotHere; *)
unit Market.Stalls;

interface

uses
  SysUtils, Classes,
  {$IFDEF MSWINDOWS} Windows, {$ENDIF}
  Market.Prices in 'Prices.pas', Ledgers;

resourcestring
  SFull = 'All stalls; procedure NotCode;';
  SEmpty = 'No stall';

const
  Version = '1.2'; Build = 7;
  Days: array[1..3] of string = ('Mon', 'Tue',
    'Wed');
  Origin: TPoint = (X: 0; Y: 0);
  Weekend = [dkSat, dkSun];

type
  TStall = class;
  IStall = interface;
  TDay = (dkMon = 1, dkSat, dkSun);
  TDays = set of TDay;
  TSize = 1..10;
  PStall = ^TStallRecord;
  TName = string[20];
  TMoney = type Currency;
  TCompare = function(A, B: TStall): Integer;
  TChanged = procedure(Sender: TObject; const Name: string) of object;
  TProc = reference to procedure;
  TStallClass = class of TStall;
  TGrid = array[0..3, 0..3] of TStall;
  TBytes = packed array of Byte;
  TFiles = file of TStallRecord;

  TStallRecord = packed record
    Number: Integer; Name, Owner: string;
    case Kind: TDay of
      dkMon: (Rent: Currency);
      dkSat: (Extra: Integer; Flag: Boolean);
  end;

  TVector = record
    X, Y: Double;
    class operator Add(const A, B: TVector): TVector;
    function Length: Double; inline;
    class function Create(AX, AY: Double): TVector; static;
  end;

  IStall = interface(IInterface)
    ['{11111111-0000-0000-0000-000000000001}']
    function GetRent: Currency; stdcall;
    procedure SetRent(Value: Currency);
    property Rent: Currency read GetRent write SetRent;
  end;

  generic TPool<T> = class
    FItems: array of T;
    procedure Put(const Item: T);
  end;
  TList<K, V: class> = class(TObject)
    type
      TNode = record Key: K; Value: V; end;
    const
      Limit = 10;
    var
      Head: TNode;
    function Find(const Key: K): V;
  end;
  TStallPool = specialize TPool<TStall>;

  // A stall.
  TStall = class abstract(TInterfacedObject, IStall, IPrinter)
  strict private
    [Weak] FOwner: TObject;
    FRent: Currency;
    FDays: TDays;
    class var FCount: Integer;
  private const
    MaxRent = 100;
  protected
    function GetRent: Currency; stdcall;
    procedure SetRent(Value: Currency);
    procedure DoChange; virtual; abstract;
  public
    constructor Create(AOwner: TComponent); overload; override;
    constructor CreateNamed(const AName: string);
    destructor Destroy; override;
    procedure Message1(var Msg: TMessage); message WM_USER;
    function Compare(A, B: TStall): Integer; overload; virtual;
    generic procedure Each<T>(const Item: T);
    property Rent: Currency read GetRent write SetRent default 3;
    property Items[Index: Integer]: string read GetItem; default;
    class property Count: Integer read FCount;
  published
    property OnChange: TChanged read FOnChange write FOnChange;
  end;

  TStallHelper = class helper for TStall
    function IsFree: Boolean;
  end;

  TOld = object
    A: Integer;
    procedure Init;
  end;

var
  Stalls, Others: TStallPool; Ready: Boolean = False;
  Handler: procedure(Code: Integer) = nil;
threadvar
  Current: TStall;

function Rent(const Name: string; Days: TDays = []): Currency; overload;
procedure Close; external 'market' name 'close_market';
operator + (const A, B: TStall): Currency;

implementation

uses Market.Log;

{$R *.res}

type
  TPrivate = class(TStall)
    procedure DoChange; override;
  end;

const
  Hidden = 3;

constructor TStall.Create(AOwner: TComponent);
begin
  inherited Create;
end;

constructor TStall.CreateNamed(const AName: string);
  procedure Check(const S: string);
  begin
    if S = '' then raise Exception.Create('procedure NotHere2;');
  end;
const
  Local = 1;
var
  I: Integer;
begin
  Check(AName);
end;

function TStall.GetRent: Currency;
begin Result := FRent end;

procedure TPool<T>.Put(const Item: T);
begin
end;

function TList<K, V>.Find(const Key: K): V;
begin
  Result := nil;
end;

class operator TVector.Add(const A, B: TVector): TVector;
begin
  Result.X := A.X + B.X;
end;

function Rent(const Name: string;
  Days: TDays): Currency;
label Again;
begin
  Again:
  try
    with Stalls do Result := 1;
  except
    on E: Exception do raise;
  end;
  TThread.CreateAnonymousThread(procedure begin Close end).Start;
end;

procedure Assembled; assembler;
asm
  nop
end;

operator + (const A, B: TStall): Currency;
begin
  Result := A.Rent + B.Rent;
end;

procedure Forwarded; forward;
procedure Forwarded; begin end; procedure SecondOnLine; begin end;

initialization
  Ready := True;
finalization
  Stalls.Free;
end.
