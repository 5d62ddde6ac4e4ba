// What the runs of a workspace were given beside its files, for a shell. Names with hyphens cannot be exported, so the
// environment is given by `env`.

export const ENVIRONMENT_FILE = 'with-environment.sh'
/** Settings of the backend that a template names, as its runs gave them to init. */
export const SETTINGS_FILE = 'capt.tfbackend'

export function environmentScript(environment: Readonly<Record<string, string>>): string {
  const lines = Object.entries(environment).map(([name, value]) => `  ${quoteShell(`${name}=${value}`)} \\`)
  return [
    '#!/bin/sh',
    '# Runs a command with the environment that the runs of capt had, credentials excluded:',
    `# ./${ENVIRONMENT_FILE} terraform plan`,
    'exec env \\',
    ...lines,
    '  "$@"',
    '',
  ].join('\n')
}

export const quoteShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
