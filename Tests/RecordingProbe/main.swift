import Recording
