#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Twenty checks of the MSI on a Windows that is not needed, and a table to paste into an issue.

.DESCRIPTION
Installs esewatch, uses it, repairs it and uninstalls it with all its data. It refuses where esewatch is installed.

.PARAMETER Msi
The MSI to try.

.EXAMPLE
.\smoke.ps1 C:\Users\me\Downloads\esewatch-0.1.0-x64.msi
#>
[CmdletBinding()]
param([Parameter(Mandatory)] [string] $Msi)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$Name = 'esewatch'
$Program = Join-Path $env:ProgramFiles $Name
$Data = Join-Path $env:ProgramData $Name
$Python = Join-Path $Program 'python\python.exe'
$Services = 'HKLM:\SYSTEM\CurrentControlSet\Services'
$Counters = "$Services\ESENT\Performance"
$Events = "$Services\EventLog\Application\$Name"
$Address = 'http://127.0.0.1:19703'
$results = New-Object Collections.Generic.List[string]

function Test-That {
    param([string] $What, [scriptblock] $Check)
    try {
        $found = & $Check
        $passed = [bool] ($found | Select-Object -Last 1)
        $said = if ($passed) { '' } else { "$found" }
    }
    catch {
        $passed = $false
        $said = $_.Exception.Message -replace '[\r\n|]+', ' '
    }
    $word = if ($passed) { 'yes' } else { 'NO' }
    $results.Add("| $($results.Count + 1) | $What | $word | $said |")
}

function Invoke-Msi {
    param([string[]] $Words)
    (Start-Process msiexec.exe -ArgumentList ($Words + '/qn') -Wait -PassThru).ExitCode
}

function Wait-For {
    param([scriptblock] $Check)
    foreach ($second in 1..60) {
        try { if (& $Check) { return $true } } catch { Write-Verbose "$_" }
        Start-Sleep 1
    }
    $false
}

function Get-Page {
    param([string] $Path)
    (Invoke-WebRequest "$Address$Path" -UseBasicParsing).Content
}

function Invoke-Esewatch {
    param([string[]] $Words)
    & $Python -B -m esewatch @Words | Out-Null
    $LASTEXITCODE
}

if (Get-Service $Name -ErrorAction SilentlyContinue) { throw "$Name is installed here: try the MSI elsewhere" }
$package = (Resolve-Path $Msi).Path
$shown = if (Test-Path $Counters) { (Get-Item $Counters).GetValue('Show Advanced Counters') }
$work = New-Item (Join-Path $env:TEMP "esewatch-smoke-$PID") -ItemType Directory

Test-That 'installs silently' { (Invoke-Msi '/i', "`"$package`"") -eq 0 }
Test-That 'the service runs' { Wait-For { (Get-Service $Name).Status -eq 'Running' } }
Test-That 'it has an account of its own' { (Get-ItemProperty "$Services\$Name").ObjectName -eq "NT SERVICE\$Name" }
Test-That 'the path of its program is in quotes' { (Get-ItemProperty "$Services\$Name").ImagePath.StartsWith("`"$Python`"") }
Test-That 'it is started again after a failure' { $null -ne (Get-Item "$Services\$Name").GetValue('FailureActions') }
Test-That 'metrics, by the compiled kernel' { Wait-For { (Get-Page '/metrics') -match 'kernel="compiled"' } }
Test-That 'the status page' { (Get-Page '/') -match '<html' }
Test-That 'nobody else reaches the port' {
    @(Get-NetTCPConnection -LocalPort 19703 -State Listen | Where-Object LocalAddress -ne '127.0.0.1').Count -eq 0
}
Test-That 'it is in Event Log Readers' { (Get-LocalGroupMember -SID S-1-5-32-573).Name -contains "NT SERVICE\$Name" }
Test-That 'it is in Performance Monitor Users' { (Get-LocalGroupMember -SID S-1-5-32-558).Name -contains "NT SERVICE\$Name" }
Test-That 'users may not read its data' {
    $sids = (Get-Acl $Data).GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]).IdentityReference.Value
    @($sids | Where-Object { $_ -in 'S-1-1-0', 'S-1-5-11', 'S-1-5-32-545' }).Count -eq 0
}
Test-That 'hidden counters of ESENT are shown' { (Get-Item $Counters).GetValue('Show Advanced Counters') -eq 1 }
Test-That 'the event log is read' { Wait-For { (Get-Page '/metrics') -match 'esewatch_source_up\{[^}]*source="log"[^}]*\} 1' } }
Test-That 'counters are read' { Wait-For { (Get-Page '/metrics') -match 'esewatch_source_up\{[^}]*source="counters"[^}]*\} 1' } }
Test-That 'an exported event log is read' {
    & wevtutil.exe epl Application "$work\application.evtx"
    (Invoke-Esewatch 'events', "$work\application.evtx") -in 0, 1
}
Test-That 'a copy of a database of Windows is scanned' {
    & esentutl.exe /y "$env:SystemRoot\SoftwareDistribution\DataStore\DataStore.edb" /vss /d "$work\copy.edb" | Out-Null
    (Invoke-Esewatch 'scan', "$work\copy.edb") -eq 0
}
Test-That 'it stops and starts in order' {
    Stop-Service $Name
    $code = (Get-CimInstance Win32_Service -Filter "Name='$Name'").ExitCode
    Start-Service $Name
    $code -eq 0
}
Test-That 'why it cannot start is an event of Windows' {
    Stop-Service $Name
    $config = Join-Path $Data 'esewatch.yml'
    Copy-Item $config "$work\esewatch.yml"
    Set-Content $config 'sources: wrong'
    Start-Service $Name -ErrorAction SilentlyContinue
    $told = Wait-For { Get-WinEvent -FilterHashtable @{ LogName = 'Application'; ProviderName = $Name } -MaxEvents 1 }
    Copy-Item "$work\esewatch.yml" $config
    $told
}
Test-That 'a repair brings back what is missing' {
    $file = Join-Path $Program 'app\esewatch\model.py'
    Remove-Item $file
    ((Invoke-Msi '/fa', "`"$package`"") -eq 0) -and (Test-Path $file)
}
Test-That 'uninstalling leaves nothing' {
    $code = Invoke-Msi '/x', "`"$package`"", 'PURGE=1'
    $now = if (Test-Path $Counters) { (Get-Item $Counters).GetValue('Show Advanced Counters') }
    $left = @($Program, $Data, $Events, "$Services\$Name", "HKLM:\SOFTWARE\$Name" | Where-Object { Test-Path $_ })
    if ($code -ne 0 -or $left.Count -or $now -ne $shown) { "status $code, left: $left, counters: $now"; $false } else { $true }
}
Remove-Item $work -Recurse -Force

$system = Get-CimInstance Win32_OperatingSystem
"$($system.Caption) $($system.Version), $(Split-Path $package -Leaf)"
''
'| | check | passed | what was said |'
'| --- | --- | --- | --- |'
$results
$failed = @($results | Where-Object { $_ -match '\| NO \|' })
exit $failed.Count
