// lte shares SCHEDULER METRES...
//
// Prints the bytes per second that ns-3's LTE module gives terminals at these distances, each with a full buffer.
//
// lte handover BURST
//
// Hands a terminal over at 2 s, to which a packet of 100 bytes is sent every millisecond, and BURST packets at 1.98 s.
// Prints the interruption, the number of each packet that arrives and its time, in nanoseconds, and how many were sent.

#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

static void place(NodeContainer nodes, const std::vector<double>& metres)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (double x : metres) positions->Add(Vector(x, 0, 0));
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

// As in ns-3's own tests of its schedulers: no errors, and RLC that always has data.
static void shares(const std::string& scheduler, const std::vector<double>& metres)
{
    Config::SetDefault("ns3::LteSpectrumPhy::CtrlErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteSpectrumPhy::DataErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteHelper::UseIdealRrc", BooleanValue(true));
    Config::SetDefault("ns3::LteAmc::AmcModel", EnumValue(LteAmc::PiroEW2010));
    auto lte = CreateObject<LteHelper>();
    lte->SetAttribute("PathlossModel", StringValue("ns3::FriisSpectrumPropagationLossModel"));
    lte->SetSchedulerType("ns3::" + scheduler);
    NodeContainer stations, terminals;
    stations.Create(1);
    terminals.Create(metres.size());
    place(stations, {0});
    place(terminals, metres);
    auto station = lte->InstallEnbDevice(stations);
    auto devices = lte->InstallUeDevice(terminals);
    lte->Attach(devices, station.Get(0));
    lte->ActivateDataRadioBearer(devices, EpsBearer(EpsBearer::GBR_CONV_VOICE));
    auto phy = station.Get(0)->GetObject<LteEnbNetDevice>()->GetPhy();
    phy->SetAttribute("TxPower", DoubleValue(30));
    phy->SetAttribute("NoiseFigure", DoubleValue(5));
    for (uint32_t n = 0; n < devices.GetN(); n++) {
        auto own = devices.Get(n)->GetObject<LteUeNetDevice>()->GetPhy();
        own->SetAttribute("TxPower", DoubleValue(23));
        own->SetAttribute("NoiseFigure", DoubleValue(9));
    }
    const double start = 0.4, time = 2;
    lte->EnableRlcTraces();
    auto stats = lte->GetRlcStats();
    stats->SetAttribute("StartTime", TimeValue(Seconds(start)));
    stats->SetAttribute("EpochDuration", TimeValue(Seconds(time)));
    Simulator::Stop(Seconds(start + time - 0.000001));
    Simulator::Run();
    for (uint32_t n = 0; n < devices.GetN(); n++) {
        auto imsi = devices.Get(n)->GetObject<LteUeNetDevice>()->GetImsi();
        std::cout << stats->GetDlRxData(imsi, 3) / time << std::endl;
    }
}

static uint32_t number = 0;
static Time begun;

static void send(Ptr<Socket> socket, Address to)
{
    SeqTsHeader header;
    header.SetSeq(number++);
    auto packet = Create<Packet>(100 - header.GetSerializedSize() - 28);
    packet->AddHeader(header);
    socket->SendTo(packet, 0, to);
}

static void receive(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv()) {
        SeqTsHeader header;
        packet->RemoveHeader(header);
        std::cout << header.GetSeq() << " " << Simulator::Now().GetNanoSeconds() << std::endl;
    }
}

static void commanded(uint64_t, uint16_t, uint16_t, uint16_t) { begun = Simulator::Now(); }

static void served(uint64_t, uint16_t, uint16_t)
{
    std::cout << "interruption " << (Simulator::Now() - begun).GetNanoSeconds() << std::endl;
}

// RRC over the air, random access, and RLC AM with a queue that holds everything.
static void handover(uint32_t burst)
{
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_AM_ALWAYS));
    Config::SetDefault("ns3::LteRlcAm::MaxTxBufferSize", UintegerValue(6170000));
    Config::SetDefault("ns3::LteHelper::UseIdealRrc", BooleanValue(false));
    auto lte = CreateObject<LteHelper>();
    auto core = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(core);
    lte->SetSchedulerType("ns3::PfFfMacScheduler");
    lte->SetHandoverAlgorithmType("ns3::NoOpHandoverAlgorithm");
    NodeContainer server, stations, terminals;
    server.Create(1);
    stations.Create(2);
    terminals.Create(1);
    place(stations, {0, 500});
    place(terminals, {250});
    InternetStackHelper internet;
    internet.Install(server);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gb/s"));
    wire.SetChannelAttribute("Delay", StringValue("10ms"));
    Ipv4AddressHelper("1.0.0.0", "255.0.0.0").Assign(wire.Install(core->GetPgwNode(), server.Get(0)));
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())->AddNetworkRouteTo("7.0.0.0", "255.0.0.0", 1);
    auto station = lte->InstallEnbDevice(stations);
    auto terminal = lte->InstallUeDevice(terminals);
    internet.Install(terminals);
    auto address = core->AssignUeIpv4Address(terminal).GetAddress(0);
    lte->Attach(terminal.Get(0), station.Get(0));
    lte->AddX2Interface(stations);
    lte->HandoverRequest(Seconds(2), terminal.Get(0), station.Get(0), station.Get(1));
    auto from = Socket::CreateSocket(server.Get(0), UdpSocketFactory::GetTypeId());
    auto to = Socket::CreateSocket(terminals.Get(0), UdpSocketFactory::GetTypeId());
    to->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    to->SetRecvCallback(MakeCallback(&receive));
    const Address goal = InetSocketAddress(address, 9);
    for (uint32_t n = 0; n < 2000; n++) Simulator::Schedule(MilliSeconds(1000 + n), &send, from, goal);
    for (uint32_t n = 0; n < burst; n++) Simulator::Schedule(MicroSeconds(1980100 + n), &send, from, goal);
    const std::string rrc = "/NodeList/*/DeviceList/*/LteEnbRrc/";
    Config::ConnectWithoutContext(rrc + "HandoverStart", MakeCallback(&commanded));
    Config::ConnectWithoutContext(rrc + "HandoverEndOk", MakeCallback(&served));
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    std::cout << "sent " << number << std::endl;
}

int main(int count, char** words)
{
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.at(0) == "handover") {
        handover(std::stoul(arguments.at(1)));
    } else {
        std::vector<double> metres;
        for (size_t n = 2; n < arguments.size(); n++) metres.push_back(std::stod(arguments[n]));
        shares(arguments.at(1), metres);
    }
    Simulator::Destroy();
}
