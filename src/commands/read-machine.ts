import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Gpu, MachineResources } from '../catalogue/recommend.ts';
import { GPU_QUERY_MS } from './limits.ts';
import { measureCoreRate } from './measure-core-rate.ts';

/** Reads the resources of the machine that runs the command. In a container the memory is the limit of the container. */
export async function readMachine(): Promise<MachineResources> {
  const limit = process.constrainedMemory();
  const memoryBytes = Math.min(totalmem(), limit > 0 ? limit : Infinity);
  const gpus = await findGpus({ platform: `${process.platform}-${process.arch}`, memoryBytes });
  return { memoryBytes, cores: availableParallelism(), coreBytesPerSecond: measureCoreRate(), gpus };
}

interface FindGpusOptions {
  /** Operating system and processor, as in `linux-x64`. */
  readonly platform: string;
  readonly memoryBytes: number;
  /** Folder of the kernel with the graphics cards. */
  readonly cardsFolder?: string;
  /** Returns the list of the driver's own program, or undefined where there is none. */
  readonly listNvidia?: () => Promise<string | undefined>;
}

/**
 * Finds the GPUs with memory of their own of NVIDIA (by `nvidia-smi`) and AMD (by the kernel's driver), and the one of
 * Apple's processors, which shares the machine's memory: by default, macOS lets it use three quarters of it.
 */
export async function findGpus({
  platform,
  memoryBytes,
  cardsFolder = '/sys/class/drm',
  listNvidia = runNvidiaSmi,
}: FindGpusOptions): Promise<readonly Gpu[]> {
  if (platform === 'darwin-arm64') return [{ name: 'Apple GPU', memoryBytes: memoryBytes * 0.75 }];
  return [...parseNvidiaList((await listNvidia()) ?? ''), ...(await readAmdGpus(cardsFolder))];
}

/** Parses lines such as `NVIDIA GeForce RTX 4090, 24564`, with the memory in MiB. */
const parseNvidiaList = (list: string): readonly Gpu[] =>
  list.split('\n').flatMap((line) => {
    const match = /^(.+), *(\d+)\s*$/.exec(line);
    return match?.[1] ? [{ name: match[1], memoryBytes: Number(match[2]) * 2 ** 20 }] : [];
  });

const runNvidiaSmi = (): Promise<string | undefined> =>
  promisify(execFile)('nvidia-smi', ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'], {
    timeout: GPU_QUERY_MS,
  }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );

async function readAmdGpus(folder: string): Promise<readonly Gpu[]> {
  const cards = (await readdir(folder).catch(() => [])).filter((name) => /^card\d+$/.test(name)).toSorted();
  const sizes = await Promise.all(
    cards.map((card) => readFile(join(folder, card, 'device/mem_info_vram_total'), 'utf8').catch(() => '')),
  );
  return sizes.flatMap((text) => (Number(text) > 0 ? [{ name: 'AMD GPU', memoryBytes: Number(text) }] : []));
}
