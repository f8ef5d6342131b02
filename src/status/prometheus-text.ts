/** Metrics as Prometheus reads them: text format 0.0.4. */
import type { Metric, MetricSample } from './metrics.ts';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(
      ({ name, help, type, samples }) =>
        `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${samples.map((sample) => line(name, sample)).join('')}`,
    )
    .join('');
}

function line(name: string, { suffix = '', labels, value }: MetricSample): string {
  const pairs = Object.entries(labels ?? {}).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number(value)}\n`;
}

function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
