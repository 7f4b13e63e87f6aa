{{- define "esewatch.name" -}}
{{- if contains "esewatch" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-esewatch" (.Release.Name | trunc 43 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "esewatch.selector" -}}
app.kubernetes.io/name: esewatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "esewatch.labels" -}}
{{ include "esewatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "esewatch.metadata" -}}
name: {{ include "esewatch.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "esewatch.labels" . | nindent 2 }}
{{- end -}}

{{- define "esewatch.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* A volume that is attached read-only: of any other the kubelet changes group and mode of each file for fsGroup. */ -}}
{{- define "esewatch.readOnly" -}}
{{- $volume := deepCopy . -}}
{{- range $kind := list "azureFile" "cephfs" "csi" "fc" "iscsi" "nfs" "persistentVolumeClaim" -}}
{{- with get $volume $kind -}}
{{- $_ := set $volume $kind (set . "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- list $volume | toYaml -}}
{{- end -}}

{{- define "esewatch.config" -}}
{{- merge (dict "journal" "/var/lib/esewatch/journal.db") .Values.config | toYaml -}}
{{- end -}}
