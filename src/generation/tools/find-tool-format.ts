import type { Abilities } from '../../core/abilities.ts';
import {
  deriveToolFormat,
  findForm,
  showsTools,
  type DeriveFormatOptions,
  type MessageForm,
  type RenderMessages,
} from './derive-tool-format.ts';
import { UNSHOWN_FORMATS } from './unshown-formats.ts';
import { detectToolFormat, mentionsTools, TOOL_FORMATS, type ToolFormat, type ToolFormatName } from './tool-formats.ts';

export interface FoundFormat {
  readonly format: ToolFormat;
  /** Forms of messages that the template needs; absent when they were not derived. */
  readonly form?: MessageForm;
  /** Whether the template describes the tools that a request offers. */
  readonly describesTools: boolean;
  /** Whether the template writes earlier calls. */
  readonly showsCalls: boolean;
}

/** How a model writes calls (docs/decisions/0058-unknown-call-formats.md). */
export interface ToolSupport {
  readonly calls: NonNullable<Abilities['toolCalls']>;
  /** Absent: Parley describes the tools and its own format in the prompt. */
  readonly found?: FoundFormat;
}

export interface FindFormatOptions extends DeriveFormatOptions {
  readonly source: string;
  readonly render: RenderMessages;
  /** Format of the model's family, if it has one. */
  readonly familyFormat: ToolFormatName | undefined;
}

/**
 * Finds how a model writes calls: in the format of its family, else in the one that its template writes, else in a known
 * one. A format that only marks in the template's source suggest is used, but it counts as unknown unless the template
 * writes calls in it.
 */
export function findToolSupport({ source, render, familyFormat, ...options }: FindFormatOptions): ToolSupport {
  const describesTools = mentionsTools(source) && showsTools(render);
  if (familyFormat)
    return describesTools
      ? { calls: 'native', found: { format: TOOL_FORMATS[familyFormat], describesTools, showsCalls: true } }
      : { calls: 'described' };
  const derived = deriveToolFormat(render, options);
  if (derived) {
    const format = findKnownFormat(derived.format) ?? derived.format;
    return { calls: 'native', found: { ...derived, format, describesTools, showsCalls: true } };
  }
  const unshown = UNSHOWN_FORMATS.find(({ mark }) => source.includes(mark));
  if (unshown) return { calls: 'native', found: { showsCalls: false, ...unshown, describesTools } };
  if (!describesTools) return { calls: 'described' };
  const name = detectToolFormat(source);
  if (!name) return { calls: 'unknown' };
  const guessed = { format: TOOL_FORMATS[name], describesTools, showsCalls: true };
  const form = findForm(render, guessed.format, options.thoughts);
  return form ? { calls: 'native', found: { ...guessed, form } } : { calls: 'unknown', found: guessed };
}

/** Returns the known format with the same marks: it also lists marks that a template does not show. */
const findKnownFormat = (format: ToolFormat): ToolFormat | undefined =>
  format.arguments?.type === 'json'
    ? Object.values(TOOL_FORMATS).find((known) => getMarks(known) === getMarks(format))
    : undefined;

const getMarks = ({ begin, before, between }: ToolFormat): string =>
  [begin, before, between].join('\0').replaceAll(/[^\S\0]/g, '');
