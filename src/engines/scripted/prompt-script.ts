import { ERROR_KINDS } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';
import type { Script, Step } from './scripted-engine.ts';

/**
 * The script of a service that runs without a model (`engine.kind: scripted`): the caller's last message, or what a prompt
 * without messages says first, is the script when it begins with `script:` and a JSON list, e.g.
 * `script:["Hel","lo",{"delayMs":50},{"repeat":"x ","times":64,"perTick":1},{"fail":"engine-failed"},{"hang":true}]`; or
 * else the last line of it that does, as where a client or a tool puts words around. Any other text is echoed word by word.
 */
export const promptScript: Script = (request) => {
  const text = lastUserText(request);
  const list = scriptOf(text);
  if (!list) return [{ type: 'tokens', tokens: `You said: ${text}`.match(/\s*\S+/g) ?? [] }];
  return list.flatMap(toSteps);
};

const MARK = 'script:';

function scriptOf(text: string): unknown[] | undefined {
  if (text.startsWith(MARK)) return parseList(text.slice(MARK.length));
  const line = text.split('\n').findLast((each) => each.startsWith(MARK));
  return line === undefined ? undefined : parseList(line.slice(MARK.length));
}

function lastUserText({ input }: EngineRequest): string {
  if (input.type !== 'segments') return '';
  const prompt = input.segments.map((segment) => segment.text).join('');
  const from = prompt.lastIndexOf('<|im_start|>user\n');
  const to = prompt.indexOf('<|im_end|>', from);
  if (from < 0) return input.segments.find(({ special }) => !special)?.text ?? '';
  return prompt.slice(from + '<|im_start|>user\n'.length, to < 0 ? undefined : to);
}

function parseList(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toSteps(item: unknown): Step[] {
  if (typeof item === 'string') return [{ type: 'tokens', tokens: [item] }];
  if (typeof item !== 'object' || item === null) return [];
  const { delayMs, repeat, times, perTick, fail, hang, vanish } = item as Record<string, unknown>;
  if (typeof delayMs === 'number') return [{ type: 'delay', ms: delayMs }];
  if (typeof repeat === 'string') {
    const tokens = Array.from({ length: Number(times) || 1 }, () => repeat);
    return [{ type: 'tokens', tokens, ...(typeof perTick === 'number' ? { perTick } : {}) }];
  }
  const kind = ERROR_KINDS.find((known) => known === fail);
  if (kind) return [{ type: 'fail', kind }];
  if (hang === true) return [{ type: 'hang' }];
  return vanish === true ? [{ type: 'vanish' }] : [];
}
