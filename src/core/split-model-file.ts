/** Suffix of the parts of a split model file, as llama.cpp writes and expects it; numbers start at 1. */
const PART_SUFFIX = /-(\d{5})-of-(\d{5})\.gguf$/i;

/** Parses the name of one part of a split model file; undefined for a file that is not split. */
export function parsePartName(file: string): { stem: string; part: number; count: number } | undefined {
  const match = PART_SUFFIX.exec(file);
  return match ? { stem: file.slice(0, match.index), part: Number(match[1]), count: Number(match[2]) } : undefined;
}

/** Lists the parts of a model file in order. A file that is not split is its only part. */
export function listPartFiles(file: string): readonly string[] {
  const parsed = parsePartName(file);
  if (!parsed) return [file];
  return Array.from(
    { length: parsed.count },
    (_, at) => `${parsed.stem}${formatPartSuffix(at + 1, parsed.count)}.gguf`,
  );
}

/** Formats the end of a part's name without its extension, e.g. `-00001-of-00003`. */
export const formatPartSuffix = (part: number, count: number): string => `-${pad(part)}-of-${pad(count)}`;

const pad = (number: number): string => String(number).padStart(5, '0');
