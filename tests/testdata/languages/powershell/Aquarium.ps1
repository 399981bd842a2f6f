#Requires -Version 7.2
#Requires -Modules @{ ModuleName = 'Pester'; ModuleVersion = '5.0' }
using namespace System.Collections.Generic
using module ./Tank.psm1
using assembly System.Net.Http

<#
.SYNOPSIS
    Looks after tanks.
.EXAMPLE
    function Fake { }
#>
[CmdletBinding(DefaultParameterSetName = 'ByName', SupportsShouldProcess)]
param(
    [Parameter(Mandatory, ParameterSetName = 'ByName', Position = 0)]
    [ValidateNotNullOrEmpty()]
    [string[]] $Name,

    [ValidateSet('Fresh', 'Salt')]
    [string] $Water = 'Fresh',

    [switch] $Force
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$script:Cache = @{}
[int] $global:Count = 0
$Limits, $Spare = @{ pH = 6.5, 8.0 }, $null
New-Variable -Name MaxTanks -Value 12 -Option Constant
Set-Alias -Name gtank -Value Get-Tank
. "$PSScriptRoot/helpers.ps1"
. $PSScriptRoot\private\Feed.ps1
Import-Module (Join-Path $PSScriptRoot 'Light.psm1') -Force
Import-Module -Name Pester

enum Species {
    Guppy
    Tetra = 4
    Ghost_Shrimp
}

[Flags()] enum Needs : byte { None = 0; Light = 1; Heat = 2 }

class Fish : IComparable {
    [string] $Name
    hidden [int] $Age = 0
    [ValidateRange(0, 100)] [double] $Length
    static [List[Fish]] $All = [List[Fish]]::new()
    $Untyped
    [Dictionary[string, List[int]]] $Measured

    Fish() { }
    Fish([string] $name, [int] $age) {
        $this.Name = $name
        $this.Age = $age
    }
    Fish([string] $name) : base($name) {
        [Fish]::All.Add($this)
    }

    [string] ToString() {
        return "class $($this.Name) { }"
    }

    [int] CompareTo([object] $other) {
        return $this.Age - $other.Age
    }

    static [Fish] Parse([string] $line) {
        $name, $age = $line -split ','
        return [Fish]::new($name, [int]$age)
    }

    hidden [void] Grow([int] $days = 1) { $this.Length += $days * 0.1 }
    Swim() { Write-Verbose 'function Swim {' }
}

class Shark : Fish {
    Shark([string] $name) : base($name, 1) { }
    [bool] Eats([Fish] $other) { return $other.Length -lt $this.Length }
}

function Get-Tank {
    <#
    .SYNOPSIS
        Finds tanks by name.
    .PARAMETER Name
        function NotThis { }
    #>
    [CmdletBinding()]
    [OutputType([hashtable])]
    param(
        [Parameter(ValueFromPipeline)] [string] $Name,
        [scriptblock] $Filter = { $true }
    )
    begin {
        $found = [List[object]]::new()
        function Test-Inner([string] $Text) { $Text -match '^function\s+\w+ {' }
    }
    process {
        if (Test-Inner $Name) { return }
        $found.Add(@{ Name = $Name; Read = { param($x) $x * 2 } })
    }
    end { $found | Where-Object -FilterScript $Filter }
}

function script:Invoke-Filter($Tank, [int]$Minutes = 5) {
    switch -Regex ($Tank.Water) {
        '^S' { 'salt' }
        default { "fresh" }
    }
}

filter Select-Hungry { if ($_.Age -gt 1) { $_ } }

function global:prompt { "tank> " }
Function Add-Fish ( [Fish] $Fish ) { [Fish]::All.Add($Fish) }
function  Feed-All
{
    param ( [int] $Grams )

    foreach ($fish in [Fish]::All) {
        try { $fish.Grow($Grams) }
        catch [System.InvalidOperationException], [ArgumentException] { Write-Warning $_ }
        finally { $Grams-- }
    }
}

workflow Watch-Tank { parallel { Get-Tank } }

configuration Aquarium {
    Node 'localhost' {
        File Log { DestinationPath = 'C:\log' }
    }
}

$report = @"
function In-HereString {
    class NotAClass { }
}
"@
$single = @'
function In-Single { "@ }
'@
# function Commented { }

$handler = { param($sender, $e) function Hidden-Helper { 1 } }
$script:Temperature = { Get-Random -Minimum 20 }
${odd name} = 3
[scriptblock]::Create('function Created { }') | Out-Null

if ($Force) {
    function Reset-Tank { $script:Cache.Clear() }
}

Get-ChildItem -Path . -Filter *.tank |
    ForEach-Object {
        $tank = Get-Content $_ | ConvertFrom-Json
        [pscustomobject]@{
            Name  = $tank.name
            Litre = [math]::Round($tank.volume / 1000, 2)
        }
    } |
    Sort-Object Litre -Descending

Register-ArgumentCompleter -CommandName Get-Tank -ScriptBlock {
    param($command, $parameter, $word)
    'reef', 'pond' | Where-Object { $_ -like "$word*" }
}

Describe 'Get-Tank' -Tag 'unit' {
    BeforeAll { Mock Get-Content { '{}' } }

    Context "without a name" {
        It 'finds <Expected> tanks' -TestCases @(
            @{ Expected = 2 }
        ) {
            param($Expected)
            (Get-Tank).Count | Should -Be $Expected
        }

        It "throws" { { Get-Tank -Name $null } | Should -Throw }
    }
}

Export-ModuleMember -Function Get-Tank, Add-Fish -Alias gtank -Variable Limits
