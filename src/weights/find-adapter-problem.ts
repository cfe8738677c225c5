import { listPartFiles } from '../core/split-model-file.ts';
import { readGgufHeader } from './gguf-header.ts';

type Shape = readonly number[];

/** Two small matrices, by the name of the matrix of the model that their product changes. */
const MATRIX = /^(.*)\.lora_([ab])$/;

/**
 * Returns why llama.cpp cannot apply a LoRA adapter to a model, as a clause, or undefined. It checks what llama.cpp checks
 * when it loads the adapter: kind, architecture, and that each matrix fits one of the model (llama.cpp src/llama-adapter.cpp).
 * @throws GgufError for a malformed file.
 */
export async function findAdapterProblem(adapterFile: string, modelFile: string): Promise<string | undefined> {
  const matrices = new Map<string, { a?: Shape; b?: Shape }>();
  const metadata = await readGgufHeader(adapterFile, (name, shape) => {
    const [, target, which] = MATRIX.exec(name) ?? [];
    if (target !== undefined && (which === 'a' || which === 'b'))
      matrices.set(target, { ...matrices.get(target), [which]: shape });
  });
  if (metadata.get('general.type')?.value !== 'adapter' || metadata.get('adapter.type')?.value !== 'lora')
    return 'it is no LoRA adapter: its metadata general.type is not "adapter", or adapter.type is not "lora"';

  const modelShapes = new Map<string, Shape>();
  const architectures = await Promise.all(
    listPartFiles(modelFile).map(async (part) => {
      const partMetadata = await readGgufHeader(part, (name, shape) => modelShapes.set(name, shape));
      return partMetadata.get('general.architecture')?.value;
    }),
  );
  const architecture = metadata.get('general.architecture')?.value;
  if (architecture !== architectures[0])
    return `it is for models of the architecture ${String(architecture)}, and its model is of ${String(architectures[0])}`;
  const misfit = [...matrices].find(([name, pair]) => !isFit(name, pair, modelShapes.get(name)));
  return misfit ? `its matrices for ${misfit[0]} fit no matrix of the model` : undefined;
}

/** The embeddings of tokens are looked up rather than multiplied, so their two matrices are stored the other way round. */
function isFit(name: string, { a, b }: { a?: Shape; b?: Shape }, model: Shape | undefined): boolean {
  if (!a || !b || !model) return false;
  return name === 'token_embd.weight'
    ? model[0] === b[1] && model[1] === a[1] && a[0] === b[0]
    : model[0] === a[0] && model[1] === b[1] && a[1] === b[0];
}
