// The few AWS calls we make ourselves, behind one port.
export * from './port.ts'
