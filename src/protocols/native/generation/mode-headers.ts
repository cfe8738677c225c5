/** Natively a header requests a stream, never a body field (docs/wire/dashscope-native.md#sse-framing). */
export function isStreamRequested(headers: Readonly<Record<string, string | undefined>>): boolean {
  if (isEnabled(headers['x-dashscope-sse']) || isEnabled(headers['x-svc-sse'])) return true;
  return (headers['accept'] ?? '')
    .split(',')
    .some((range) => range.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream');
}

/** Whether a header requests an asynchronous task instead of a direct answer. */
export const isTaskRequested = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  isEnabled(headers['x-dashscope-async']) || isEnabled(headers['x-svc-async']);

/** Lists the header by which older clients request plugins; Parley has no plugins, so it is ignored. */
export const listIgnoredPlugins = (headers: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (headers['x-dashscope-plugin'] ?? headers['x-svc-plugin'])?.trim() ? ['X-DashScope-Plugin'] : [];

const isEnabled = (value: string | undefined): boolean => value?.trim().toLowerCase() === 'enable';
