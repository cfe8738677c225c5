import { ServiceError } from '../core/error.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import type { HubIndex } from '../weights/hub-index.ts';
import { chooseModelFile, findModelFiles, matchesQuantization, type ModelFile } from '../weights/model-files.ts';

/** A repository of the hub, with the quantization to take from it. */
export interface HubReference {
  readonly repository: string;
  /** Absent: chosen by what fits the machine. */
  readonly quantization?: string;
}

/** Parses `OWNER/REPO` or `OWNER/REPO:QUANT`; undefined for another form, such as one that names a file. */
export function parseHubReference(text: string): HubReference | undefined {
  const match = /^([A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?::([\w-]+))?$/.exec(text);
  if (!match?.[1]) return undefined;
  return { repository: match[1], ...(match[2] === undefined ? {} : { quantization: match[2] }) };
}

/** Fields of a model entry that name one file of the hub and pin its content. */
export interface HubFields {
  readonly hub: string;
  readonly revision?: string;
  readonly sha256?: string | readonly string[];
  readonly licence?: string;
}

export interface ResolvedHubReference {
  readonly fields: HubFields;
  readonly model: ModelFile;
}

interface ResolveDeps {
  readonly hub: Pick<HubIndex, 'readRepository'>;
  /** Whether a model of so many bytes fits the machine. */
  readonly fits: (sizeBytes: number) => boolean;
  readonly revision?: string | undefined;
}

/**
 * Finds the file of a repository: the one with the quantization, else one that fits the machine.
 * @throws ServiceError `not-found` with the quantizations that there are; `invalid-request` if none fits.
 */
export async function resolveHubReference(
  { repository: name, quantization }: HubReference,
  { hub, fits, revision: wanted }: ResolveDeps,
): Promise<ResolvedHubReference> {
  const { files, revision, licence } = await hub.readRepository(name, wanted);
  const models = findModelFiles(files);
  if (models.length === 0)
    throw new ServiceError('not-found', `${name} has no GGUF model. Search one: parley models search WORDS.`);
  const model =
    quantization === undefined
      ? (chooseModelFile(models, fits) ?? (models.length === 1 ? models[0] : undefined))
      : models.find((each) => matchesQuantization(each, quantization));
  if (!model) {
    const list = models.map((each) => `${each.quantization || each.file} (${formatBytes(each.sizeBytes)})`).join(', ');
    throw quantization === undefined
      ? new ServiceError(
          'invalid-request',
          `No file of ${name} fits this machine. Name one, ${name}:QUANT, of: ${list}.`,
        )
      : new ServiceError('not-found', `${name} has no quantization ${quantization}. It has: ${list}.`);
  }
  const { hashes = [] } = model;
  const [only] = hashes;
  return {
    model,
    fields: {
      hub: `${name}/${model.file}`,
      // A folder has no commits.
      ...(revision === 'main' ? {} : { revision }),
      ...(only === undefined ? {} : { sha256: hashes.length === 1 ? only : hashes }),
      ...(licence === undefined ? {} : { licence }),
    },
  };
}

/** Describes the chosen file for the operator. */
export const describeModelFile = ({ fields, model }: ResolvedHubReference): string =>
  `${fields.hub}${model.quantization && ` (${model.quantization})`}, ${formatBytes(model.sizeBytes)}, licence ${fields.licence ?? 'not stated'}`;
