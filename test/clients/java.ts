import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Program } from './program-cases.ts';

/** What `.ci/run` fetches. */
const JARS = fileURLToPath(new URL('../../.cache/java/', import.meta.url));

/** The first that runs a source file as it stands with the language that ours are written in. */
const JAVA_MIN = 11;

/** Runs a source file of ./java, with the jars that jars.sha256 names: PARLEY_JAVA or the system's. */
export function javaProgram(file: string): Program {
  const command = process.env.PARLEY_JAVA ?? 'java';
  const source = fileURLToPath(new URL(`java/${file}`, import.meta.url));
  // Its logger would write what the cases are to see.
  const args = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=off', '-cp', `${JARS}*`, source];
  return { command, args, lacks: lacksJava(command) ?? lacksJars() };
}

function lacksJava(command: string): string | undefined {
  // Without the compiler, which a runtime of Java alone lacks, there is no running of sources.
  const { stdout } = spawnSync(command, ['--list-modules'], { encoding: 'utf8' });
  const version = Number(/^jdk\.compiler@(\d+)/m.exec(stdout ?? '')?.[1] ?? 0);
  return version >= JAVA_MIN ? undefined : `no JDK ${JAVA_MIN} or newer (apt-get install default-jdk-headless)`;
}

function lacksJars(): string | undefined {
  const names = readFileSync(new URL('java/jars.sha256', import.meta.url), 'utf8').match(/\S+\.jar/g) ?? [];
  const missing = names.find((name) => !existsSync(`${JARS}${name}`));
  return missing === undefined ? undefined : `no .cache/java/${missing} (.ci/run fetches it)`;
}
