using namespace System.IO
using module ./Schedule.psm1

#Requires -Version 7.2

Import-Module Microsoft.PowerShell.Archive
Import-Module "$PSScriptRoot/Targets.psm1" -Force
. $PSScriptRoot/private/helpers.ps1

Set-StrictMode -Version Latest

$script:LogPath = Join-Path $env:TEMP 'backup.log'
$DefaultKeep = 14
[string[]]$Skipped = '*.tmp', '*.bak'

enum BackupState {
    Waiting
    Running = 5
    Done
    Failed
}

# One run of a job.
class BackupRun {
    [string] $Job
    [datetime] $Started = (Get-Date)
    hidden [BackupState] $State = [BackupState]::Waiting
    static [int] $Count = 0

    BackupRun([string] $job) {
        $this.Job = $job
        [BackupRun]::Count++
    }

    [void] Start() {
        $this.State = [BackupState]::Running
        Write-BackupLog "started $($this.Job)"
    }

    [timespan] Elapsed([datetime] $now) {
        return $now - $this.Started
    }

    static [BackupRun] Latest([BackupRun[]] $runs) {
        return $runs | Sort-Object Started | Select-Object -Last 1
    }
}

class MirrorRun : BackupRun {
    [string] $Target

    MirrorRun([string] $job, [string] $target) : base($job) {
        $this.Target = $target
    }
}

<#
.SYNOPSIS
Writes a line into the log.
#>
function Write-BackupLog {
    param(
        [Parameter(Mandatory, ValueFromPipeline)]
        [string] $Message,

        [ValidateSet('info', 'warn')]
        [string] $Level = 'info'
    )
    process {
        $line = "{0:s} [{1}] {2}" -f (Get-Date), $Level, $Message
        Add-Content -Path $script:LogPath -Value $line
    }
}

function Get-BackupFile {
    [CmdletBinding()]
    [OutputType([FileInfo])]
    param(
        [string] $Path = '.',
        [switch] $Recurse
    )

    function Test-Skipped([string] $name) {
        foreach ($pattern in $Skipped) {
            if ($name -like $pattern) { return $true }
        }
        return $false
    }

    Get-ChildItem -Path $Path -File -Recurse:$Recurse |
        Where-Object { -not (Test-Skipped $_.Name) }
}

filter Select-Recent {
    if ($_.LastWriteTime -gt (Get-Date).AddDays(-$DefaultKeep)) { $_ }
}

# Copies what is recent.
function Start-Backup {
    [CmdletBinding(SupportsShouldProcess)]
    param(
        [Parameter(Mandatory)] [string] $Job,
        [string] $Source = $PWD,
        [string] $Target,
        [int] $Keep = $DefaultKeep
    )
    begin {
        $run = [MirrorRun]::new($Job, $Target)
        $run.Start()
    }
    process {
        try {
            $files = Get-BackupFile -Path $Source -Recurse | Select-Recent
            foreach ($file in $files) {
                if ($PSCmdlet.ShouldProcess($file.FullName, 'copy')) {
                    Copy-Item $file.FullName -Destination $Target
                }
            }
            Remove-OldBackup -Target $Target -Keep $Keep
        }
        catch {
            Write-BackupLog "failed: $($_.Exception.Message)" -Level warn
            $run.State = [BackupState]::Failed
            throw
        }
    }
    end {
        $run
    }
}

function Remove-OldBackup($Target, [int] $Keep) {
    $limit = (Get-Date).AddDays(-$Keep)
    Get-ChildItem $Target | Where-Object LastWriteTime -lt $limit | Remove-Item -Force
}

function global:Show-Backup {
    # Start-Backup is only named here.
    $text = @"
Backups of $env:COMPUTERNAME
function Not-Code { }
"@
    Write-Host $text
    Get-Content $script:LogPath -Tail 20
}

function ConvertTo-Size {
    param([long] $Bytes)
    switch ($Bytes) {
        { $_ -ge 1GB } { return '{0:n1} GB' -f ($Bytes / 1GB) }
        { $_ -ge 1MB } { return '{0:n1} MB' -f ($Bytes / 1MB) }
        default { return "$Bytes B" }
    }
}

if ($IsWindows) {
    function Register-BackupTask {
        param([string] $Job, [datetime] $At)
        $action = New-ScheduledTaskAction -Execute 'pwsh' -Argument "-c Start-Backup $Job"
        Register-ScheduledTask -TaskName $Job -Action $action -Trigger (New-ScheduledTaskTrigger -At $At)
    }
}

Set-Alias -Name sbk -Value Start-Backup
Export-ModuleMember -Function Start-Backup, Get-BackupFile, ConvertTo-Size -Alias sbk

Describe 'ConvertTo-Size' {
    It "shows megabytes" {
        ConvertTo-Size 2097152 | Should -Be '2.0 MB'
    }
}
