#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Installs esewatch as a Windows service with no more rights than it needs.

.DESCRIPTION
The service runs as NT SERVICE\esewatch, an account that Windows makes for it and that has no password.
It may read event logs and counters, and write in %ProgramData%\esewatch\state and \logs only. The hidden counters of
ESE are switched on. "esewatch windows prepare" does this, and lists it in %ProgramData%\esewatch\logs\install.log.

A second run installs the new version and keeps configuration and state. -WhatIf says what would be done.

.PARAMETER Python
python.exe of an installation for all users, 3.11 or later. Default: the one that py.exe finds.

.PARAMETER Source
Folder of the sources, or a wheel of esewatch. Default: the sources that this script is part of.

.PARAMETER Wheels
Folder with all packages of requirements\runtime.lock and build.lock, for a server without internet.

.PARAMETER ListenAddress
Where metrics are served. Give it each time, as the other options: none is remembered. Default 127.0.0.1:19703, which this machine alone reaches.

.PARAMETER WebConfig
File for TLS and logins, read by the service: put it into %ProgramData%\esewatch.

.PARAMETER Firewall
Addresses that may reach the port, as netsh says them: 10.0.0.5, LocalSubnet. Default: none, the firewall stays as it is.

.PARAMETER KeepCountersHidden
Leave the registry as it is: no figures of online defragmentation.

.EXAMPLE
.\install.ps1 -WhatIf
#>
[CmdletBinding(SupportsShouldProcess)]
param(
    [string] $Python,
    [string] $Source = (Join-Path $PSScriptRoot '..\..'),
    [string] $Wheels,
    [string] $ListenAddress = '127.0.0.1:19703',
    [string] $WebConfig,
    [string] $Firewall = 'none',
    [switch] $KeepCountersHidden
)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$Name = 'esewatch'
$Account = "NT SERVICE\$Name"
$Program = Join-Path $env:ProgramFiles $Name
$Data = Join-Path $env:ProgramData $Name
$Config = Join-Path $Data 'esewatch.yml'
$Log = Join-Path $Data 'logs\esewatch.log'
# SYSTEM, Administrators.
$Trusted = 'S-1-5-18', 'S-1-5-32-544'
$Events = "HKLM:\SYSTEM\CurrentControlSet\Services\EventLog\Application\$Name"

function Invoke-Program {
    param([string] $Path, [string[]] $Words)
    & $Path @Words
    if ($LASTEXITCODE -ne 0) { throw "$Path ended with $LASTEXITCODE" }
}

function Find-Python {
    if (-not $Python) {
        $launcher = Get-Command py.exe -CommandType Application -ErrorAction SilentlyContinue |
            Select-Object -First 1
        if (-not $launcher) { throw 'No Python is installed for all users: install one, or name it with -Python' }
        $script:Python = & $launcher.Source -3 -c 'import sys; print(sys.executable)'
    }
    $found = & $Python -c 'import sys; print(sys.version_info[0] * 100 + sys.version_info[1], sys.base_exec_prefix, sep=chr(10))'
    if ($LASTEXITCODE -ne 0) { throw "$Python does not run" }
    if ([int] $found[0] -lt 311) { throw "$Python is not Python 3.11 or later" }
    # Who can change the interpreter could do all that the service may do. A virtual environment starts a second process, which the service manager does not know.
    $path = Join-Path $found[1] 'python.exe'
    $safe = @($env:ProgramFiles, ${env:ProgramFiles(x86)}) | Where-Object { $_ }
    if (-not ($safe | Where-Object { $path.StartsWith("$_\", [StringComparison]::OrdinalIgnoreCase) })) {
        throw "$path is not below ${env:ProgramFiles}: install Python for all users"
    }
    $path
}

function Install-Packages {
    param([string] $Interpreter)
    $app = Join-Path $Program 'app'
    $fresh = Join-Path $Program 'app.new'
    New-Item $Program -ItemType Directory -Force | Out-Null
    if (Test-Path $fresh) { Remove-Item $fresh -Recurse -Force }
    $from = @()
    if ($Wheels) { $from = '--no-index', '--find-links', (Resolve-Path $Wheels).Path }
    $pip = '-m', 'pip', 'install', '--disable-pip-version-check', '--quiet'
    $locked = '--only-binary', ':all:', '--require-hashes', '--requirement'
    $locks = Join-Path $PSScriptRoot '..\..\requirements'
    # What builds esewatch runs as an administrator, so it is one of known hashes too.
    $build = Join-Path $Program 'build.new'
    if (Test-Path $build) { Remove-Item $build -Recurse -Force }
    Invoke-Program $Interpreter ($pip + $from + @('--target', $build) + $locked + (Join-Path $locks 'build.lock'))
    Invoke-Program $Interpreter ($pip + $from + @('--target', $fresh) + $locked + (Join-Path $locks 'runtime.lock'))
    $before = $env:PYTHONPATH
    try {
        $env:PYTHONPATH = $build
        Invoke-Program $Interpreter ($pip + @('--target', $fresh, '--no-index', '--no-build-isolation', '--no-deps', (Resolve-Path $Source).Path))
    }
    finally { $env:PYTHONPATH = $before }
    Remove-Item $build -Recurse -Force
    # A new version that cannot be installed leaves the old one at work.
    if ($service) { Stop-Service $Name }
    if (Test-Path $app) { Remove-Item $app -Recurse -Force }
    Rename-Item $fresh 'app'
}

function Write-Launcher {
    param([string] $Interpreter)
    # For people and scan-shadow.ps1: the service has the same in its own environment.
    Set-Content (Join-Path $Program 'esewatch.cmd') -Encoding Ascii -Value @(
        '@echo off', 'setlocal', "set PYTHONPATH=$(Join-Path $Program 'app')", 'set PYTHONDONTWRITEBYTECODE=1',
        'set PYTHONNOUSERSITE=1', ('"{0}" -P -m esewatch %*' -f $Interpreter))
}

function Install-Service {
    param([string] $Command)
    if ($service) {
        $done = Get-CimInstance Win32_Service -Filter "Name='$Name'" |
            Invoke-CimMethod -MethodName Change -Arguments @{ PathName = $Command }
        if ($done.ReturnValue -ne 0) { throw "the service was not changed: $($done.ReturnValue)" }
    }
    else {
        New-Service -Name $Name -DisplayName 'esewatch' -StartupType Automatic -BinaryPathName $Command `
            -Description 'Watches the online maintenance of ESE databases.' | Out-Null
    }
    New-ItemProperty "HKLM:\SYSTEM\CurrentControlSet\Services\$Name" -Name Environment -PropertyType MultiString -Force -Value @(
        "PYTHONPATH=$(Join-Path $Program 'app')", 'PYTHONDONTWRITEBYTECODE=1', 'PYTHONNOUSERSITE=1') | Out-Null
    # The messages 1 to 1000 of EventCreate.exe are "%1": the text of an event is all that it says.
    New-Item $Events -Force | Out-Null
    New-ItemProperty -Path $Events -Name EventMessageFile -PropertyType ExpandString -Force -Value '%SystemRoot%\System32\EventCreate.exe' | Out-Null
    New-ItemProperty -Path $Events -Name TypesSupported -PropertyType DWord -Force -Value 7 | Out-Null
    Invoke-Program sc.exe @('config', $Name, 'obj=', $Account) | Out-Null
}

function Invoke-Esewatch {
    param([string[]] $Words)
    Invoke-Program (Join-Path $Program 'esewatch.cmd') $Words
}

function Set-Server {
    # Folders, rights and hidden counters, as the MSI sets them.
    if ((Test-Path $Data) -and (Get-Acl $Data).GetOwner([Security.Principal.SecurityIdentifier]).Value -notin $Trusted) {
        throw "$Data is there and belongs to somebody who is no administrator: look at it, and delete it"
    }
    $shown = if ($KeepCountersHidden) { 'leave' } else { 'show' }
    Invoke-Esewatch @('windows', 'prepare', '--listen-address', $ListenAddress, '--firewall', $Firewall,
        '--counters', $shown, '--template', (Join-Path $PSScriptRoot 'esewatch.yml'))
}

function Start-Checked {
    Invoke-Esewatch @('config', 'check', '--config.file', $Config)
    Start-Service $Name
    Write-Output "esewatch serves http://$ListenAddress/ and logs to $Log"
    Write-Output "Other commands: & '$(Join-Path $Program 'esewatch.cmd')' doctor --config.file '$Config'"
}

$interpreter = Find-Python
$service = Get-Service $Name -ErrorAction SilentlyContinue
$command = '"{0}" -P -m esewatch run --windows.service --config.file "{1}" --log.file "{2}" --web.listen-address {3}' -f
    $interpreter, $Config, $Log, $ListenAddress
if ($WebConfig) { $command += ' --web.config.file "{0}"' -f (Resolve-Path $WebConfig).Path }

if ($PSCmdlet.ShouldProcess($Program, "install the packages for $interpreter")) {
    Install-Packages $interpreter
    Write-Launcher $interpreter
}
if ($PSCmdlet.ShouldProcess($Name, "make the service, as $Account")) { Install-Service $command }
if ($PSCmdlet.ShouldProcess($Data, 'esewatch windows prepare: folders, rights, hidden counters, firewall')) { Set-Server }
if ($PSCmdlet.ShouldProcess($Name, 'check the configuration and start the service')) { Start-Checked }
