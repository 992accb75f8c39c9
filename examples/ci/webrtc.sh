# A call by aiortc, a WebRTC stack (pip install aiortc), whose rate follows the network. PYTHON names its Python.
SEND="exec ${PYTHON:-python3} $(dirname "$programs")/webrtc_peer.py send receiver"
RECEIVE="exec ${PYTHON:-python3} $(dirname "$programs")/webrtc_peer.py receive"
