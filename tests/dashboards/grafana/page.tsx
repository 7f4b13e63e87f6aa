// The panels of one dashboard, drawn by Grafana's own components from answers of Prometheus.
//
// What Grafana itself has and no package (how a data source makes frames, the defaults of a panel)
// is written here as public/app/plugins of grafana/grafana 12 has it. pictures.py serves this page.
import '@fontsource/inter/400.css';
import '@fontsource/inter/500.css';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { firstValueFrom } from 'rxjs';
import {
  applyFieldOverrides, cacheFieldDisplayNames, createTheme, DataFrame, dateTime, FieldType,
  getFieldDisplayValues, Registry, standardTransformers, standardTransformersRegistry, ThemeContext,
  toDataFrame, transformDataFrame,
} from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, PortalContainer, Table, TimeSeries, VizRepeater } from '@grafana/ui';

const COLUMN = 60; // Pixels of a column and of a row of Grafana's grid, in a window of 1448.
const ROW = 38;
const GAP = 8;
const STANDARD = [
  'unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'links', 'mappings', 'thresholds', 'color',
  'filterable', 'description', 'fieldMinMax', 'actions',
];
const SERIES = {
  drawStyle: 'line', lineWidth: 1, fillOpacity: 0, lineInterpolation: 'linear', showPoints: 'auto',
  pointSize: 5, axisPlacement: 'auto', axisColorMode: 'text', axisLabel: '', axisCenteredZero: false,
  axisBorderShow: false, scaleDistribution: { type: 'linear' }, spanNulls: false, insertNulls: false,
  gradientMode: 'none', stacking: { mode: 'none', group: 'A' }, barAlignment: 0, barWidthFactor: 0.6,
  hideFrom: { legend: false, tooltip: false, viz: false }, thresholdsStyle: { mode: 'off' },
};
const CELLS = { align: 'auto', cellOptions: { type: 'auto' }, inspect: false, filterable: false };
const theme = createTheme({ colors: { mode: 'dark' } });
const asIs: any = (value: string) => value;

function legend(format: string | undefined, metric: any) {
  if (!format || format === '__auto') return undefined;
  return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_found, name) => metric[name] ?? '');
}

function tableFrame(target: any, series: any[], several: boolean): DataFrame {
  const names = [...new Set<string>(series.flatMap((each) => Object.keys(each.metric)))].sort();
  const value = several ? 'Value #' + target.refId : 'Value';
  return toDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: series.map((each) => each.value[0] * 1000), config: {} },
      ...names.map((name) => ({
        name, type: FieldType.string, values: series.map((each) => each.metric[name] ?? ''), config: {},
      })),
      { name: value, type: FieldType.number, values: series.map((each) => Number(each.value[1])), config: {} },
    ],
  });
}

// One series; a step that Prometheus has no sample for is null, as Grafana fills it.
function seriesFrame(target: any, one: any, [begin, end, step]: number[]): DataFrame {
  const points: Array<[number, string]> = one.values ?? [one.value];
  let times = points.map(([time]) => Math.round(time));
  let values: Array<number | null> = points.map(([, value]) => Number(value));
  if (one.values) {
    const known = new Map(times.map((time, index) => [time, values[index]]));
    times = [];
    for (let time = Math.floor(begin / step) * step; time <= end; time += step) times.push(Math.round(time));
    values = times.map((time) => known.get(time) ?? null);
  }
  const name = legend(target.legendFormat, one.metric);
  const config = { displayNameFromDS: name };
  return toDataFrame({
    refId: target.refId,
    name,
    fields: [
      { name: 'Time', type: FieldType.time, values: times.map((time) => time * 1000), config: { interval: step * 1000 } },
      { name: 'Value', type: FieldType.number, values, labels: one.metric, config },
    ],
  });
}

function frames({ answers, span }: any): DataFrame[] {
  const several = answers.filter(({ target }: any) => target.format === 'table').length > 1;
  return answers.flatMap(({ target, series }: any) => {
    if (target.format !== 'table') return series.map((one: any) => seriesFrame(target, one, span));
    return series.length ? [tableFrame(target, series, several)] : [];
  });
}

// The options of fields that the panels of this dashboard set, as Grafana's registry has them.
function registryOf(asked: any[]): any {
  const customs = new Set<string>();
  for (const { panel } of asked) {
    for (const key of Object.keys(panel.fieldConfig?.defaults?.custom ?? {})) customs.add(key);
    for (const { properties } of panel.fieldConfig?.overrides ?? [])
      for (const { id } of properties) if (id.startsWith('custom.')) customs.add(id.slice('custom.'.length));
  }
  const item = (path: string, isCustom: boolean) => ({
    id: isCustom ? 'custom.' + path : path, path, name: path, isCustom, process: asIs,
    shouldApply: () => true, override: null, editor: null,
  });
  const items = [...STANDARD.map((path) => item(path, false)), ...[...customs].map((path) => item(path, true))];
  return new Registry(() => items as any);
}

async function prepared(asked: any, fieldConfigRegistry: any): Promise<DataFrame[]> {
  const { panel } = asked;
  let data = frames(asked);
  if (panel.transformations?.length)
    data = await firstValueFrom(transformDataFrame(panel.transformations, data, { interpolate: asIs }) as any);
  const fieldConfig = structuredClone(panel.fieldConfig ?? { defaults: {}, overrides: [] });
  const { defaults } = fieldConfig;
  if (panel.type === 'timeseries') defaults.custom = { ...SERIES, ...defaults.custom };
  if (panel.type === 'table') defaults.custom = { ...CELLS, ...defaults.custom };
  defaults.color ??= { mode: panel.type === 'timeseries' ? 'palette-classic' : 'thresholds' };
  defaults.thresholds ??= { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }] };
  const options: any = { data, fieldConfig, replaceVariables: asIs, theme, fieldConfigRegistry, timeZone: 'utc' };
  const found = applyFieldOverrides(options);
  cacheFieldDisplayNames(found);
  return found;
}

function Sentence({ state, children }: any) {
  return <div data-state={state} style={{ padding: 20 }}>{children}</div>;
}

function Numbers({ panel, data, width, height }: any) {
  const options = panel.options ?? {};
  const graphMode = options.graphMode ?? 'area';
  const asked: any = {
    fieldConfig: panel.fieldConfig, reduceOptions: options.reduceOptions ?? { calcs: ['lastNotNull'] },
    replaceVariables: asIs, theme, data, sparkline: graphMode !== 'none', timeZone: 'utc',
  };
  const values = getFieldDisplayValues(asked);
  const common = {
    theme, graphMode, count: values.length, colorMode: options.colorMode ?? 'value',
    textMode: options.textMode ?? 'auto', justifyMode: options.justifyMode ?? 'auto', text: options.text,
  };
  const one = ({ value, width, height }: any) => (
    <BigValue {...common} value={value.display} sparkline={value.sparkline} width={width} height={height} />
  );
  return (
    <VizRepeater source={data} getValues={() => values} renderValue={one} width={width} height={height}
      orientation={options.orientation ?? 'auto'} autoGrid={true} itemSpacing={3} renderCounter={1}
      getAlignmentFactors={() => ({ text: '', title: '' }) as any} />
  );
}

function Body({ panel, span, data, width, height }: any) {
  const options = panel.options ?? {};
  const [from, to] = span.map((seconds: number) => dateTime(seconds * 1000));
  const timeRange: any = { from, to, raw: { from: 'now-14d', to: 'now' } };
  const size = { width, height };
  if (!['timeseries', 'table', 'stat'].includes(panel.type))
    return <Sentence state="not drawn">{panel.type}: part of Grafana itself, in no package</Sentence>;
  if (panel.type === 'stat') return <Numbers panel={panel} data={data} {...size} />;
  if (!data.some((frame: any) => frame.length))
    return <Sentence state="empty">{panel.fieldConfig?.defaults?.noValue ?? 'No data'}</Sentence>;
  if (panel.type === 'table')
    return (
      <Table data={data[0]} {...size} enablePagination={!!options.footer?.enablePagination}
        cellHeight={options.cellHeight} initialSortBy={options.sortBy} timeRange={timeRange} />
    );
  const shown = { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [], ...options.legend };
  return <TimeSeries frames={data} {...size} timeRange={timeRange} timeZone="utc" legend={shown} options={options} />;
}

class Guard extends React.Component<any, { error: string }> {
  state = { error: '' };
  static getDerivedStateFromError(error: any) {
    return { error: String(error?.stack ?? error) };
  }
  render() {
    return this.state.error ? <Sentence state="error">{this.state.error}</Sentence> : this.props.children;
  }
}

function Panel({ asked, data, error }: any) {
  const { panel, span } = asked;
  const { x, y, w, h } = panel.gridPos;
  const width = w * COLUMN - GAP;
  const height = h * ROW - GAP;
  return (
    <div className="panel" data-title={panel.title} data-type={panel.type}
      style={{ position: 'absolute', left: x * COLUMN + GAP, top: y * ROW }}>
      <PanelChrome title={panel.title} description={panel.description} width={width} height={height} padding="md">
        {(width: number, height: number) => (
          <Guard>
            {error ? <Sentence state="error">{error}</Sentence>
              : <Body panel={panel} span={span} data={data} width={width} height={height} />}
          </Guard>
        )}
      </PanelChrome>
    </div>
  );
}

// Whether a picture of lines has a pixel with a colour: grid, axes and their words are grey.
function hasLines(panel: Element): boolean {
  const canvas = panel.querySelector('canvas');
  const pixels = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
  for (let at = 0; at < pixels.length; at += 4) {
    const red = pixels[at], green = pixels[at + 1], blue = pixels[at + 2], alpha = pixels[at + 3];
    if (alpha > 100 && Math.max(red, green, blue) - Math.min(red, green, blue) > 32) return true;
  }
  return false;
}

function stateOf(panel: HTMLElement): string {
  const said = panel.querySelector<HTMLElement>('[data-state]');
  if (said) return said.dataset.state!;
  const cells = panel.querySelectorAll('[role="cell"]').length;
  const words = panel.querySelector('[data-testid$="panel content"]')?.textContent;
  const drawn = { timeseries: () => hasLines(panel), table: () => cells > 0, stat: () => !!words };
  return drawn[panel.dataset.type as keyof typeof drawn]() ? 'drawn' : 'waiting';
}

// What is to be seen of each panel, in order; pictures.py asks for it.
(window as any).seen = () =>
  [...document.querySelectorAll<HTMLElement>('.panel')].map((panel) => ({
    title: panel.dataset.title, type: panel.dataset.type, state: stateOf(panel), text: panel.innerText,
  }));

async function main() {
  const transformers = [...new Map(Object.values(standardTransformers).map((each: any) => [each.id, each])).values()];
  standardTransformersRegistry.setInit(() => transformers.map((each) => ({
    id: each.id, aliasIds: each.aliasIds, name: each.name, description: '', transformation: each,
  })) as any);
  const all: any[] = await (await fetch('answers.json')).json();
  const registry = registryOf(all);
  const ready = await Promise.all(all.map(async (asked) => {
    try {
      return { asked, data: await prepared(asked, registry) };
    } catch (error: any) {
      return { asked, data: [], error: String(error?.stack ?? error) };
    }
  }));
  const bottom = Math.max(...all.map(({ panel }) => panel.gridPos.y + panel.gridPos.h));
  createRoot(document.getElementById('root')!).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ height: bottom * ROW, background: theme.colors.background.canvas }}>
        {ready.map((each, index) => <Panel key={index} {...each} />)}
      </div>
      <PortalContainer />
    </ThemeContext.Provider>
  );
}

main();
