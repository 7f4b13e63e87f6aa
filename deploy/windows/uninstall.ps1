#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Takes back what install.ps1 did.

.DESCRIPTION
The service ends and is deleted, its memberships and its packages go, and the registry has the values again
that it had before. Configuration, state and logs in %ProgramData%\esewatch stay, unless -Purge is given.
-WhatIf says what would be done.

.PARAMETER Purge
Delete configuration, state and logs too.

.EXAMPLE
.\uninstall.ps1 -WhatIf
#>
[CmdletBinding(SupportsShouldProcess)]
param([switch] $Purge)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$Name = 'esewatch'
$Account = "NT SERVICE\$Name"
$Program = Join-Path $env:ProgramFiles $Name
$Data = Join-Path $env:ProgramData $Name
$Command = Join-Path $Program 'esewatch.cmd'
$Events = "HKLM:\SYSTEM\CurrentControlSet\Services\EventLog\Application\$Name"

if ((Get-Service $Name -ErrorAction SilentlyContinue) -and $PSCmdlet.ShouldProcess($Name, 'stop the service')) {
    Stop-Service $Name
}
# Before the service is deleted: without it nobody knows its account by name.
if ((Test-Path $Command) -and $PSCmdlet.ShouldProcess($Account, 'esewatch windows restore: rights, hidden counters, firewall')) {
    & $Command windows restore
    if ($LASTEXITCODE -ne 0) { throw "$Command ended with $LASTEXITCODE" }
}
if (Get-Service $Name -ErrorAction SilentlyContinue) {
    $sid = ([Security.Principal.NTAccount] $Account).Translate([Security.Principal.SecurityIdentifier]).Value
    $profiles = @(Get-CimInstance Win32_UserProfile -Filter "SID='$sid'")
    if ($profiles -and $PSCmdlet.ShouldProcess($Account, 'delete the profile that Windows made for it')) {
        $profiles | Remove-CimInstance
    }
}
if ((Get-Service $Name -ErrorAction SilentlyContinue) -and $PSCmdlet.ShouldProcess($Name, 'delete the service')) {
    # Windows PowerShell 5.1 has no Remove-Service.
    sc.exe delete $Name | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "sc.exe ended with $LASTEXITCODE" }
}
if ((Test-Path $Events) -and $PSCmdlet.ShouldProcess($Events, 'delete the source of events')) {
    Remove-Item $Events -Recurse -Force
}
if ((Test-Path $Program) -and $PSCmdlet.ShouldProcess($Program, 'delete the packages')) {
    Remove-Item $Program -Recurse -Force
}
if ($Purge -and (Test-Path $Data) -and $PSCmdlet.ShouldProcess($Data, 'delete configuration, state and logs')) {
    Remove-Item $Data -Recurse -Force
}
