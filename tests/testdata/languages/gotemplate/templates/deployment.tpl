{{- /*
Renders the workload of a weather station.
{{ define "station.notRead" }} in a comment {{ end }}
*/ -}}
{{- define "station.workload" -}}
{{- $root := .root -}}
{{- $values := merge .values $root.Values -}}
apiVersion: apps/v1
kind: {{ $values.kind | default "Deployment" }}
metadata:
  name: {{ include "station.name" $root }}
  labels:
    {{- include "station.labels" $root | nindent 4 }}
spec:
  {{- if and (not $values.autoscaling) (ne (toString $values.replicas) "") }}
  replicas: {{ $values.replicas }}
  {{- else if $values.isSingle }}
  replicas: 1
  {{- end }}
  template:
    metadata:
      annotations:
        checksum/config: {{ include (print $root.Template.BasePath "/configmap.yaml") $root | sha256sum }}
        description: {{ printf "{%s} at {{%s}}" $values.place $values.height | quote }}
    spec:
      {{- with $values.initContainers }}
      initContainers:
        {{- range . }}
        - {{- include "station.container" (dict "root" $root "container" .) | nindent 10 }}
        {{- end }}
      {{- end }}
      containers:
        {{- range $index, $container := $values.containers }}
        {{- if $container.enabled }}
        - {{- template "station.container" (dict "root" $root "container" $container) }}
        {{- else }}
        {{- /* Disabled: {{ end }} */}}
        {{- end }}
        {{- else }}
        {{- fail "a station needs a container" }}
        {{- end }}
{{- end -}}

{{- define "station.container" }}
name: {{ .container.name }}
image: {{ printf "%s:%s" .container.image (.container.tag | default "latest") }}
{{- with .container.env }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{ define "station.port" }}{{ .Values.port | default 8080 }}{{ end }}{{ define "station.host" }}{{ .Values.host }}{{ end }}

{{- define `station.alerts` }}
groups:
  - name: wind
    rules:
      - alert: StrongWind
        expr: wind_speed > {{ .Values.limit }}
        annotations:
          summary: {{`Wind on {{ $labels.station }} is {{ $value }} m/s{{ end }}`}}
          description: '{{ "{{" }} range $labels {{ "}}" }}'
      {{- if hasPrefix "{" .Values.raw }}
      - {{ .Values.raw }}
      {{- end }}
      {{- range .Values.rules }}
      - alert: {{ .name }}
        annotations:
          summary: {{ "{{ define \"station.inString\" }}" }}
      {{- end }}
{{- end }}

{{- define "station.after" -}}
after: {{ .Release.Name }}
{{- end -}}
