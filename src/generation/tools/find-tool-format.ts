import {
  deriveToolFormat,
  type DerivedFormat,
  type DeriveFormatOptions,
  type RenderMessages,
} from './derive-tool-format.ts';
import { UNSHOWN_FORMATS } from './unshown-formats.ts';
import { detectToolFormat, mentionsTools, TOOL_FORMATS, type ToolFormat, type ToolFormatName } from './tool-formats.ts';

export interface FoundFormat {
  readonly format: ToolFormat;
  /** Forms of messages that the template needs; absent when they were not derived. */
  readonly form?: DerivedFormat['form'];
  /** Whether the template describes the tools that a request offers. */
  readonly describesTools: boolean;
  /** Whether the template writes earlier calls. */
  readonly showsCalls: boolean;
}

export interface FindFormatOptions extends DeriveFormatOptions {
  readonly source: string;
  readonly render: RenderMessages;
  /** Format of the model's family, if it has one. */
  readonly familyFormat: ToolFormatName | undefined;
}

/**
 * Finds the format in which a model writes calls: the family's, else the one that its template writes, else a known one.
 *
 * @returns undefined for a template without calls, or with a format that Parley cannot parse. Parley then describes the
 *   tools and its own format in the prompt.
 */
export function findToolFormat({
  source,
  render,
  familyFormat,
  ...options
}: FindFormatOptions): FoundFormat | undefined {
  const describesTools = mentionsTools(source);
  if (familyFormat)
    return describesTools ? { format: TOOL_FORMATS[familyFormat], describesTools, showsCalls: true } : undefined;
  const derived = deriveToolFormat(render, options);
  if (derived)
    return { ...derived, format: findKnownFormat(derived.format) ?? derived.format, describesTools, showsCalls: true };
  const unshown = UNSHOWN_FORMATS.find(({ mark }) => source.includes(mark));
  if (unshown) return { showsCalls: false, ...unshown, describesTools };
  const name = detectToolFormat(source);
  return name && { format: TOOL_FORMATS[name], describesTools, showsCalls: true };
}

/** Returns the known format with the same marks: it also lists marks that a template does not show. */
const findKnownFormat = (format: ToolFormat): ToolFormat | undefined =>
  format.arguments?.type === 'json'
    ? Object.values(TOOL_FORMATS).find((known) => getMarks(known) === getMarks(format))
    : undefined;

const getMarks = ({ begin, before, between }: ToolFormat): string =>
  [begin, before, between].join('\0').replaceAll(/[^\S\0]/g, '');
