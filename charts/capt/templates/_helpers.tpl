{{- /* Generated from config/default by npm run generate. Do not edit. */ -}}
{{- define "capt.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "capt" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-capt" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "capt.managerImage" -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "v%s" .Chart.AppVersion) .Values.image.tag) -}}
{{- with .Values.image.digest -}}@{{ . }}{{- end -}}
{{- end -}}

{{- define "capt.runnerImage" -}}
{{- printf "%s:%s" .Values.runnerImage.repository (default (printf "v%s" .Chart.AppVersion) .Values.runnerImage.tag) -}}
{{- with .Values.runnerImage.digest -}}@{{ . }}{{- end -}}
{{- end -}}

{{- define "capt.image" -}}
{{- include (eq .Values.engine "local" | ternary "capt.runnerImage" "capt.managerImage") . -}}
{{- end -}}

{{- define "capt.resources" -}}
{{- if .Values.resources -}}
{{ toYaml .Values.resources }}
{{- else if eq .Values.engine "local" -}}
limits:
  cpu: "4"
  memory: 4Gi
requests:
  cpu: 250m
  memory: 1Gi
{{- else -}}
limits:
  cpu: 500m
  memory: 128Mi
requests:
  cpu: 10m
  memory: 64Mi
{{- end -}}
{{- end -}}

{{- define "capt.graceSeconds" -}}
{{- if not (kindIs "invalid" .Values.terminationGracePeriodSeconds) -}}
{{ toYaml .Values.terminationGracePeriodSeconds }}
{{- else if eq .Values.engine "local" -}}
300
{{- else -}}
30
{{- end -}}
{{- end -}}
