#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Scans databases that are in use: makes a shadow copy of their volume, scans in it, removes it.

.DESCRIPTION
vssadmin makes the copy without the writers of VSS: no backup is registered, no transaction log is truncated, and the
database in the copy is as after a crash, which the checksums of its pages do not mind. vssadmin makes copies on a
Windows Server only. Exit status: the highest of esewatch scan. -WhatIf says what would be done.

.PARAMETER Database
Files on one volume.

.PARAMETER Volume
Where the volume is mounted: D:\, or a folder such as C:\ExchangeVolumes\Volume1\. Default: the drive of the first file.

.PARAMETER Python
python.exe that has esewatch. Default: what install.ps1 or the MSI installed.

.EXAMPLE
.\scan-shadow.ps1 D:\DB1\DB1.edb, D:\DB2\DB2.edb
#>
[CmdletBinding(SupportsShouldProcess)]
param(
    [Parameter(Mandatory)] [string[]] $Database,
    [string] $Volume,
    [string] $Python
)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$installed = Join-Path $env:ProgramFiles 'esewatch'
$program, $words = (Join-Path $installed 'esewatch.cmd'), @()
if ($Python -or -not (Test-Path $program)) {
    $program, $words = (Join-Path $installed 'python\python.exe'), @('-B', '-m', 'esewatch')
    if ($Python) { $program = $Python }
}
$first = $Database[0]
if (-not $Volume) { $Volume = (Split-Path $first -Qualifier) }
$Volume = $Volume.TrimEnd('\') + '\'
foreach ($file in $Database) {
    if (-not $file.StartsWith($Volume, [StringComparison]::OrdinalIgnoreCase)) {
        throw "$file is not on $Volume : name the files of one volume at a time, and the volume with -Volume"
    }
}
if (-not $PSCmdlet.ShouldProcess($Volume, 'make a shadow copy, scan in it, remove it')) { return }

$said = (& vssadmin.exe create shadow "/for=$Volume") -join "`n"
if ($LASTEXITCODE -ne 0) { throw "vssadmin ended with $LASTEXITCODE : $said" }
# What vssadmin says is translated; these two are not.
$id = [regex]::Match($said, '\{[0-9a-fA-F-]{36}\}').Value
$device = [regex]::Match($said, '\\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy\d+').Value
if (-not $id -or -not $device) { throw "vssadmin names no shadow copy: $said" }

$link = Join-Path $env:SystemDrive "esewatch-shadow-$PID"
$worst = 0
try {
    # Without the backslash at its end the link leads nowhere.
    & cmd.exe /c mklink /d $link "$device\" | Out-Null
    foreach ($file in $Database) {
        & $program @words scan (Join-Path $link $file.Substring($Volume.Length))
        $worst = [Math]::Max($worst, $LASTEXITCODE)
    }
}
finally {
    if (Test-Path $link) { & cmd.exe /c rmdir $link }
    & vssadmin.exe delete shadows "/shadow=$id" /quiet | Out-Null
    if ($LASTEXITCODE -ne 0) { Write-Warning "the shadow copy $id is still there: vssadmin delete shadows /shadow=$id" }
}
exit $worst
